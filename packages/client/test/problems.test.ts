/** What a server does wrong and a connection survives: its host is told, as a problem. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ConnectionEvent } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Results } from '../src/lists/results.ts';
import { gate, flush } from '../../testing/src/index.ts';
import { greeted, scriptedServer } from './http/scripted-server.ts';

const quiet: ConnectOptions = { report: () => {}, restart: 'none' };

/** A server of a script, which has `answer(id, result)` and `send(message)`, and gets each message. */
const scripted = (script: string) => ({
  command: process.execPath,
  args: [
    '-e',
    `const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const answer = (id, result) => send({ id, result: { resultType: 'complete', ...result } });
    const hints = { ttlMs: 3600000, cacheScope: 'private' };
    const asked = [];
    require('node:readline').createInterface(process.stdin).on('line', (line) => {
      const { id, method, params, error } = JSON.parse(line);
      asked.push(method ?? error?.message);
      if (method === 'x/asked') return answer(id, { asked });
      ${script}
    });`,
  ],
});

type Problem = ConnectionEvent & { readonly type: 'problem' };

async function connected(entry: Parameters<typeof connect>[0], options: ConnectOptions = {}) {
  const connection = await connect(entry, { ...quiet, ...options });
  onTestFinished(() => connection.close());
  const problems: Problem[] = [];
  connection.events$.subscribe((event) => event.type === 'problem' && problems.push(event));
  return { connection, problems };
}

const askedOf = async (connection: Connection) => (await connection.request('x/asked'))['asked'];

describe('a notification of a foreign subscription', () => {
  const server = scripted(`
    if (method === 'server/discover') answer(id, { ...hints, supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } });
    if (method === 'subscriptions/listen') {
      globalThis.mine = id;
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      send({ method: 'notifications/subscriptions/acknowledged', params: { _meta, notifications: params.notifications } });
    }
    if (method === 'tools/list') answer(id, { ...hints, tools: [] });
    if (method === 'x/change') {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': params.mine ? mine : 'of another' };
      send({ method: 'notifications/tools/list_changed', params: { _meta } });
      answer(id, {});
    }
  `);

  test('is reported and ignored [LISTS-03]', async () => {
    const { connection, problems } = await connected(server);
    const heard: string[] = [];
    connection.events$.subscribe((each) => each.type === 'notification' && heard.push(each.method));
    await connection.listTools();
    await connection.request('x/change');
    expect(problems).toMatchObject([
      { name: 'subscription.unknown', message: expect.stringContaining('"of another"') },
    ]);
    await connection.listTools();
    expect(heard).not.toContain('notifications/tools/list_changed');
    const listed = (methods: unknown) =>
      (methods as string[]).filter((method) => method === 'tools/list').length;
    expect(listed(await askedOf(connection))).toBe(1);
    await connection.request('x/change', { mine: true });
    await connection.listTools();
    expect(heard).toContain('notifications/tools/list_changed');
    expect(listed(await askedOf(connection))).toBe(2);
    expect(problems).toHaveLength(1);
  });
});

test('reports a rejected notifications/initialized', async () => {
  const server = await scriptedServer((asked) => {
    if (asked.message?.method === 'notifications/initialized') {
      return asked.text('I do not like that', 'text/plain', 400);
    }
    if (asked.message?.method === 'server/discover') return asked.json({}, 404);
    return greeted(asked) || asked.result();
  });
  const { connection, problems } = await connected({ url: server.url.href });
  expect(await connection.request('ping')).toEqual({});
  expect(problems).toMatchObject([
    { name: 'output.lost', message: expect.stringMatching(/notifications\/initialized.*400/s) },
  ]);
});

describe('structured content that violates its schema', () => {
  const outputSchema = {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 1 } },
    required: ['n'],
  };
  const server = (result: object) =>
    scriptedServer((asked) => {
      const { method } = asked.message ?? {};
      if (method === 'initialize') {
        const serverInfo = { name: 'scripted', version: '1' };
        const capabilities = { tools: {} };
        return asked.result({ protocolVersion: '2025-11-25', capabilities, serverInfo });
      }
      if (method === 'server/discover') return asked.json({}, 404);
      if (method === 'tools/list') {
        return asked.result({ tools: [{ name: 't', inputSchema: {}, outputSchema }] });
      }
      return method === 'tools/call' ? asked.result(result) : greeted(asked);
    });

  test.each<[what: string, result: object, problem: string | undefined]>([
    ['is told', { content: [], structuredContent: { n: 0 } }, 'n must be >= 1'],
    ['is told if it is missing', { content: [] }, 'it is missing'],
    ['is no matter of an error', { content: [], isError: true }, undefined],
    ['is not told if it is right', { content: [], structuredContent: { n: 1 } }, undefined],
  ])('%s, and the result is given as it is [ANSWER-12]', async (_, result, problem) => {
    const { url } = await server(result);
    const { connection, problems } = await connected({ url: url.href });
    await connection.listTools();
    expect(await connection.callTool('t')).toEqual(result);
    const message = `The "structuredContent" of "t" does not match its "outputSchema": ${problem}`;
    expect(problems.map((each) => [each.name, each.message])).toEqual(
      problem === undefined ? [] : [['output.invalid', message]],
    );
  });

  test.each<[schema: object, value: unknown, fault: RegExp | undefined]>([
    [{ type: ['object', 'null'] }, null, undefined],
    [{ properties: { a: { enum: ['x', 'y'] } } }, { a: 'z' }, /^a must be/],
    [{ properties: { a: { items: { type: 'string' } } } }, { a: ['x', 1] }, /^a\.1 must be/],
    // A stranger's pattern takes a bounded number of steps.
    [{ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(40)}!` }, /^a must match/],
    // What is no schema says nothing of the result.
    [{ type: 'nonsense', required: 'a', enum: 1, items: 3 }, {}, undefined],
    [{ $ref: '#/nowhere' }, {}, undefined],
    // A schema without a bound would hold up the host that makes a check of it.
    [{ required: ['a'], description: 'x'.repeat(64 * 1024) }, {}, undefined],
    [{ required: ['a'], description: 'x'.repeat(60 * 1024) }, {}, /must have/],
  ])('is what %j says of %j', (outputSchema, structuredContent, fault) => {
    const tool = { name: 't', inputSchema: {}, outputSchema: outputSchema as never };
    const told: string[] = [];
    const results = new Results('server', (_, message) =>
      told.push(message.replace(/^.* does not match its "outputSchema": /, '')),
    );
    results.toolsListed([tool]);
    results.callTool('t', { content: [], structuredContent });
    expect(told).toEqual(fault === undefined ? [] : [expect.stringMatching(fault)]);
  });
});

test('a result is what its method promises, and is compared only with what its tool has declared', () => {
  const told: string[] = [];
  const results = new Results('files', (_, message) => told.push(message));
  results.toolsListed([
    { name: 't', inputSchema: {}, outputSchema: { type: 'object' } },
    { name: 'plain', inputSchema: {} },
  ]);
  const content = ['as it is'];
  for (const tool of ['plain', 'unknown']) results.callTool(tool, { content });
  results.callTool('t', { content, isError: true });
  expect(told).toEqual([]);
  expect(results.callTool('t', { content, isError: false })).toEqual({ content, isError: false });
  expect(told).toEqual([
    'The "structuredContent" of "t" does not match its "outputSchema": it is missing',
  ]);
  const structuredContent = { n: 1 };
  expect(results.callTool('t', { structuredContent })).toEqual({ structuredContent, content: [] });
  const wrong = (member: string, method: string) =>
    `"${member}" in the result of ${method} from files must be a list, got 7`;
  expect(() => results.callTool('t', { content: 7, structuredContent })).toThrow(
    wrong('content', 'tools/call'),
  );
  expect(() => results.readResource({ contents: 7 })).toThrow(wrong('contents', 'resources/read'));
  expect(() => results.getPrompt({ messages: 7 })).toThrow(wrong('messages', 'prompts/get'));
});

test('a host that closes says so itself to a server that it was answering', async () => {
  const held = gate();
  const entry = scripted(`
    if (method === 'server/discover') send({ id, error: { code: -32601, message: 'no' } });
    if (method === 'initialize') answer(id, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } });
    if (method === 'notifications/initialized') send({ id: 's1', method: 'roots/list' });
    if (error) { process.stderr.write(JSON.stringify(error) + '\\n'); }
  `);
  const connection = await connect(entry, {
    ...quiet,
    roots: async () => {
      await held.pass();
      return [];
    },
  });
  await held.arrived();
  await connection.close();
  expect(connection.stderr.text).toContain('The client is closing the connection');
  expect(connection.stderr.text).not.toContain('server is shutting down');
});

test('hints at a withheld variable named in the last stderr lines', async () => {
  process.env['OF_PROBLEMS_TOKEN'] = 'secret-value';
  onTestFinished(() => void delete process.env['OF_PROBLEMS_TOKEN']);
  const entry = {
    command: process.execPath,
    args: ['-e', "if (!process.env.OF_PROBLEMS_TOKEN) throw new Error('Set OF_PROBLEMS_TOKEN')"],
  };
  const message = (options: ConnectOptions) =>
    connect(entry, { ...quiet, ...options }).then(String, ({ message: text }: Error) => text);
  const hinted = await message({ era: 'legacy' });
  expect(hinted).toMatch(/OF_PROBLEMS_TOKEN is set for the host but not inherited by the server/);
  expect(hinted).not.toContain('secret-value');
  expect(await message({ era: 'legacy', inheritEnv: ['OF_PROBLEMS_TOKEN'] })).not.toMatch(/is set/);
  delete process.env['OF_PROBLEMS_TOKEN'];
  expect(await message({ era: 'legacy' })).not.toMatch(/is set/);
});

test.each(['legacy', 'modern'] as const)(
  'one process has all that a connection says, and nothing but lines that are messages, %s [PROC-10] [PROC-11]',
  async (era) => {
    const folder = await mkdtemp(join(tmpdir(), 'input-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const log = join(folder, 'input');
    const entry = scripted(`
      if (method === 'server/discover') {
        if (${era === 'modern'}) answer(id, { ...hints, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
        else send({ id, error: { code: -32601, message: 'no' } });
      }
      if (method === 'initialize') {
        answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
      }
      if (method === 'notifications/initialized') send({ id: 's1', method: 'roots/list' });
      if (method === 'tools/list') answer(id, { ...hints, tools: [] });
      if (method === 'tools/call' && params.name !== 'hold') answer(id, { content: [] });
    `);
    const raw = `process.stdin.on('data', (data) => require('node:fs').appendFileSync(${JSON.stringify(log)}, data));`;
    const { command, args } = entry;
    const options: ConnectOptions = { ...quiet, roots: [], limits: { probeMs: 60_000 } };
    const connection = await connect({ command, args: ['-e', raw + String(args[1])] }, options);
    onTestFinished(() => connection.close());
    expect(connection.server?.era).toBe(era);
    await connection.listTools();
    await connection.callTool('any', { text: 'two\nlines\r\n\u2028 and \u0000' });
    const controller = new AbortController();
    const held = connection.callTool('hold', {}, { signal: controller.signal });
    await flush();
    controller.abort();
    await expect(held).rejects.toMatchObject({ code: 'CANCELLED' });
    await connection.callTool('any');
    expect(connection.launches).toBe(1);
    await connection.close();
    const written = await readFile(log, 'utf8');
    const lines = written.split('\n');
    expect(lines.pop()).toBe('');
    const messages = lines.map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
    const methods = messages.map((message) => ('method' in message ? message.method : 'answer'));
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(3);
    expect(methods).toContain('notifications/cancelled');
    expect(methods.includes('answer')).toBe(era === 'legacy');
  },
);
