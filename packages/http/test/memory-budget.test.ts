/** Memory held for clients is limited in bytes, per client and in total. */
import { createMcpServer, defineTool, sessionOf } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import type { Limits, McpSession, SessionDump, Tool, WatchedSession } from 'mcp-actors';
import type { AuthorizationOptions, HttpOptions } from '../src/index.ts';
import { ask, callTool } from './modern/modern-client.ts';
import { initializeRequest, post } from './raw-client.ts';
import { serveHttp } from './serving.ts';

const authorization: AuthorizationOptions = { verifyToken: (token) => ({ subject: token }) };
const as = (person: string) => ({ headers: { authorization: `Bearer ${person}` } });

async function serve(tools: readonly Tool[], limits: Partial<Limits>, options: HttpOptions = {}) {
  const dumps: (() => SessionDump)[] = [];
  const sessions: McpSession[] = [];
  const watchers = [
    ({ dump, actor }: WatchedSession) => {
      dumps.push(dump);
      sessions.push(sessionOf(actor));
    },
  ];
  const server = createMcpServer({ name: 'room', version: '1', tools, logging: {} });
  const session = { limits, watchers, report: () => {} };
  const url = await serveHttp(server, { authorization, session, report: () => {}, ...options });
  const dump = (at = 0) => (dumps[at] as () => SessionDump)();
  return { url, dump, session: () => sessions[0] as McpSession };
}

const pad = (length: number) => 'x'.repeat(length);
const text = (said: string) => [{ type: 'text', text: said }];
const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;

const who = defineTool({
  name: 'who',
  description: 'Asks for a name',
  inputSchema: { type: 'object', properties: { pad: { type: 'string' } } },
  handler: async (_, { elicit }) => {
    const answer = await elicit({ message: 'Who?', schema });
    return answer.action;
  },
});

/** A tool whose calls wait for a gate. */
function holding(options: object = {}) {
  const held = gate();
  const hold = defineTool({
    name: 'hold',
    description: 'Waits until it is let go',
    inputSchema: {
      type: 'object',
      properties: { pad: { type: 'string' }, give: { type: 'integer' } },
    },
    ...options,
    handler: async (args, { signal, log }) => {
      log.warning('what is said before the answer makes a stream of it');
      await held.pass(signal);
      return pad(Number((args as { give?: number }).give ?? 4));
    },
  });
  return { hold, held };
}

describe('suspended calls', () => {
  const elicits = (person: string) => ({ ...as(person), capabilities: { elicitation: {} } });
  const suspended = ({ calls }: SessionDump) =>
    calls.filter(({ state }) => state === 'suspended').length;

  test('evicts the oldest call of a client over its quota, which restarts on retry', async () => {
    const { url, dump } = await serve([who], { maxRetainedBytes: 30_000 });
    const begin = async (person: string, length = 9000) =>
      (await callTool(url, 'who', { pad: pad(length) }, elicits(person))).result as {
        readonly requestState: string;
        readonly inputRequests: object;
      };
    const first = await begin('ada');
    await begin('bob', 10);
    for (let more = 0; more < 9; more++) await begin('ada');
    expect(suspended(dump())).toBe(4);
    const { count, max, maxOfEach } = dump().queues.retainedBytes;
    expect([max, maxOfEach]).toEqual([120_000, 30_000]);
    expect(count).toBeGreaterThan(27_000);
    expect(count).toBeLessThan(31_000);
    const [key = ''] = Object.keys(first.inputRequests);
    const retry = {
      ...{ name: 'who', arguments: { pad: pad(9000) }, requestState: first.requestState },
      inputResponses: { [key]: { action: 'decline' } },
    };
    const { result } = await ask(url, 'tools/call', retry, elicits('ada'));
    expect(result?.['content']).toEqual(text('decline'));
  });

  test('does not keep a call that exceeds the quota alone', async () => {
    const { url, dump } = await serve([who], { maxRetainedBytes: 30_000 });
    const { result } = await callTool(url, 'who', { pad: pad(40_000) }, elicits('ada'));
    expect(result?.['resultType']).toBe('input_required');
    expect(suspended(dump())).toBe(0);
    expect(dump().queues.retainedBytes.count).toBe(0);
  });

  test('limits all clients to four quotas and evicts from the heaviest', async () => {
    const { url, dump } = await serve([who], { maxRetainedBytes: 20_000 });
    const begin = (person: string, length: number) =>
      callTool(url, 'who', { pad: pad(length) }, elicits(person));
    await begin('bob', 10);
    for (let person = 0; person < 6; person++) await begin(`ada${person}`, 18_000);
    expect(suspended(dump())).toBe(5);
    expect(dump().queues.retainedBytes.count).toBeLessThanOrEqual(80_000);
  });
});

describe('tasks', () => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const create = (url: URL, args: { pad?: string; give?: number }, person = 'ada') =>
    callTool(url, 'hold', args, { ...as(person), capabilities });
  const statusOf = async (url: URL, taskId: unknown) =>
    (await ask(url, 'tasks/get', { taskId } as never, { ...as('ada'), capabilities })).result;

  test('rejects a task over the quota until another one has ended', async () => {
    const { hold, held } = holding({ taskSupport: 'required' });
    const { url, dump } = await serve([hold], { maxRetainedBytes: 30_000 });
    const first = await create(url, { pad: pad(20_000) });
    const refused = await create(url, { pad: pad(20_000) });
    expect(refused.error).toMatchObject({
      data: { reason: 'too-many-tasks', retryable: true },
      message: expect.stringContaining('may come to 30000 bytes') as string,
    });
    const bobs = await create(url, { pad: pad(20_000) }, 'bob');
    expect(bobs.result?.['resultType']).toBe('task');
    held.release();
    await expect
      .poll(async () => (await statusOf(url, first.result?.['taskId']))?.['status'])
      .toBe('completed');
    expect(dump().queues.retainedBytes.count).toBeLessThan(1000);
    expect((await create(url, { pad: pad(20_000) })).error).toBeUndefined();
  });

  test('fails a task whose result exceeds the quota', async () => {
    const { hold, held } = holding({ taskSupport: 'required' });
    const { url } = await serve([hold], { maxRetainedBytes: 10_000 });
    held.release();
    const { result } = await create(url, { give: 50_000 });
    await expect
      .poll(async () => await statusOf(url, result?.['taskId']))
      .toMatchObject({
        status: 'failed',
        error: {
          message: expect.stringMatching(
            /^Task result of 50\d{3} bytes exceeds .*maxRetainedBytes 10000/,
          ) as string,
        },
      });
  });
});

/** Starts a session for a person and returns a function that calls `hold`. */
async function begin(url: URL, person: string) {
  const begun = await post(url, initializeRequest(), as(person).headers);
  await begun.text();
  const headers = {
    ...as(person).headers,
    'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
  };
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  let id = 0;
  const call = async (length: number, give = 4) => {
    const params = { name: 'hold', arguments: { pad: pad(length), give } };
    const message = { jsonrpc: '2.0', id: ++id, method: 'tools/call', params };
    return (await post(url, message, headers)).text();
  };
  const end = () => fetch(url, { method: 'DELETE', headers });
  return { call, end };
}

test("limits the stream events of a client's sessions together", async () => {
  const { hold, held } = holding();
  const { url, dump } = await serve([hold], { maxRetainedBytes: 30_000 });
  const sessions = [];
  for (let count = 0; count < 6; count++) sessions.push(await begin(url, 'ada'));
  const answers = sessions.map(({ call }) => call(1, 9000));
  await held.arrived(6);
  held.release();
  for (const answer of await Promise.all(answers)) expect(answer).toContain('xxxx');
  const { count } = dump().queues.retainedBytes;
  expect(count).toBeGreaterThan(9000);
  expect(count).toBeLessThanOrEqual(30_000);
  for (const { end } of sessions) await end();
  expect(dump().queues.retainedBytes.count).toBe(0);
});

test("shares the quota for requests in flight among a client's sessions", async () => {
  const { hold, held } = holding();
  const limits = { maxRunningBytes: 15_000, maxWaitingBytes: 15_000 };
  const { url, dump } = await serve([hold], limits);
  const { call: first } = await begin(url, 'ada');
  const { call: second } = await begin(url, 'ada');
  const { call: bobs } = await begin(url, 'bob');
  const taken = [first(12_000), second(12_000)];
  await held.arrived(2);
  expect(dump().queues.inFlightBytes).toMatchObject({ max: 30_000 });
  expect(dump().queues.inFlightBytes.count).toBeGreaterThan(24_000);
  expect(await second(12_000)).toContain('does not fit');
  const others = bobs(12_000);
  await held.arrived(3);
  held.release();
  for (const answer of await Promise.all([...taken, others])) expect(answer).toContain('xxxx');
  expect(dump().queues.inFlightBytes.count).toBe(0);
  expect(await second(12_000)).toContain('xxxx');
});

test('rejects an initialize over 64 KiB without a session', async () => {
  const { url } = await serve([], {}, { limits: { maxSessions: 1 } });
  const message = initializeRequest('2025-11-25', { experimental: { pad: pad(70_000) } });
  const refused = await post(url, message, as('ada').headers);
  expect(await refused.text()).toContain('params must have at most 65536 characters of JSON');
  expect(refused.headers.get('mcp-session-id')).toBeNull();
  expect((await post(url, initializeRequest(), as('bob').headers)).status).toBe(200);
});

test('keeps no processed message in an HTTP session', async () => {
  const { hold, held } = holding();
  const { url, session } = await serve([hold], {});
  held.release();
  const { call } = await begin(url, 'ada');
  const passed: unknown[] = [];
  session().traffic$.subscribe((item) => void passed.push(item));
  await call(10_000);
  expect(passed.length).toBeGreaterThan(1);
  const kept: unknown[] = [];
  session().traffic$.subscribe((item) => void kept.push(item));
  expect(kept).toEqual([]);
});

test('limits the client description in a request of 2026-07-28', async () => {
  const { url } = await serve([who], {});
  const capabilities = { elicitation: {}, experimental: { pad: pad(9000) } };
  const { error } = await callTool(url, 'who', {}, { ...as('ada'), capabilities });
  expect(error).toMatchObject({
    code: -32_602,
    message: expect.stringContaining('must have at most 8192 characters of JSON') as string,
  });
});
