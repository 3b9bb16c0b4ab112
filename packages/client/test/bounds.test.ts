/** Each bound of a connection: its default, and what happens at it. docs/limits.md has them all. */
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionLimitsWith, defaultConnectionLimits } from '../src/connection/limits.ts';
import { streamResumption } from '../src/http/http-stream.machine.ts';
import { defaultStopTimes } from '../../processes/src/process.machine.ts';
import { httpRestart, processRestart } from '../src/channel/restart-option.ts';
import { scriptedConnection } from './scripted-transport.ts';
import type { Script, ScriptedTransport } from './scripted-transport.ts';

describe('docs/limits.md', () => {
  /** What the page says of hosts; what stands above it is for servers. */
  const page = readFileSync(new URL('../../../docs/limits.md', import.meta.url), 'utf8').replace(
    /^.*?(?=^Bounds of \[the processes that a host launches\])/ms,
    '',
  );
  const units: { readonly [unit: string]: number } = {
    ...{ ms: 1, s: 1000, min: 60_000, KiB: 2 ** 10, MiB: 2 ** 20, '%': 0.01 },
  };
  /** The quantities of a cell, in their order. */
  const quantitiesIn = (cell: string) =>
    [...cell.matchAll(/(?<value>\d[\d.,]*\d|\d) ?(?<unit>ms|s|min|KiB|MiB|%)?(?![a-z])/g)].map(
      ({ groups: { value = '', unit = '' } = {} }) =>
        Number(value.replaceAll(',', '')) * (units[unit] ?? 1),
    );
  /** Each option that a row of the tables names, with the quantity at its place. */
  const rows = [...page.matchAll(/^\| (?<what>.*) \| (?<value>.*) \| (?<options>`.*`) \|$/gm)];
  const documented = new Map(
    rows.flatMap(({ groups: { value = '', options = '' } = {} }) => {
      const names = [...options.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
      const [, group = 'limits'] = /^(\w+)\./.exec(names[0] ?? '') ?? [];
      const given = names.map((name) => (name.includes('.') ? name : `${group}.${name}`));
      const isDoubled = given.some((name) => name.endsWith('.factor'));
      const text = isDoubled ? value.replace('doubled', '2').replace('×', '') : value;
      const quantities = quantitiesIn(text);
      return given.map((name, at) => [name, quantities[at]] as const);
    }),
  );
  const named = (name: string, values: object) =>
    Object.entries(values).map(([field, value]) => [`${name}.${field}`, value as number] as const);
  // It depends on another one.
  const { loginTimeoutMs, ...limits } = defaultConnectionLimits;
  // Streams have none.
  const { jitter, ...streamRetry } = streamResumption;

  test.each([
    ...named('limits', limits),
    ...named('stop', defaultStopTimes),
    ...named('restart', processRestart),
    ...named('streamRetry', streamRetry),
  ])('says that %s is %d', (option, value) => {
    expect(documented.get(option)).toBe(value);
  });

  test('names only limits that exist, with their differences', () => {
    expect(jitter).toBe(0);
    expect(documented.get('limits.loginTimeoutMs')).toBe(loginTimeoutMs - 300_000);
    expect(httpRestart).toEqual({ ...processRestart, maxAttempts: Infinity });
    expect(page).toContain(
      '| new launches in a row | 5, over HTTP without end | `restart.maxAttempts` |',
    );
    const known = { limits, stop: defaultStopTimes, restart: processRestart, streamRetry };
    const all = Object.entries(known).flatMap(([name, values]) =>
      Object.keys(values).map((field) => `${name}.${field}`),
    );
    const more = [...documented.keys()].filter((option) => !all.includes(option));
    expect(more).toEqual(['limits.loginTimeoutMs']);
  });
});

const second = 1000;

function before(script?: Script, options: ConnectOptions = {}) {
  const { connection, clock, servers } = scriptedConnection(script, options);
  const server = () => servers.at(-1) as ScriptedTransport;
  return { connection, clock, server };
}

/** What has come of it so far. */
function watched(work: Promise<unknown>) {
  const seen: { outcome: string } = { outcome: 'pending' };
  work.then(
    () => (seen.outcome = 'answered'),
    (error: { readonly code?: string }) => (seen.outcome = error.code ?? 'failed'),
  );
  return seen;
}
const turn = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('default limits of a connection', () => {
  test('probes for 500 ms and gives up after 30 s', async () => {
    const { connection, clock, server } = before(() => 'never', { era: undefined });
    const ready = watched(connection.ready());
    await expect.poll(() => server()?.methods()).toEqual(['server/discover']);
    clock.increment(499);
    await turn();
    expect(server().methods()).toEqual(['server/discover']);
    clock.increment(1);
    await expect.poll(() => server().methods()).toEqual(['server/discover', 'initialize']);
    clock.increment(30 * second - 501);
    await turn();
    expect(ready.outcome).toBe('pending');
    clock.increment(1);
    await expect.poll(() => ready.outcome).toBe('CONNECT_TIMEOUT');
  });

  test('times a request out after 60 s, or 10 min with progress [HOST-19]', async () => {
    const { connection, clock, server } = before(({ method }) =>
      method === 'tools/call' ? 'never' : undefined,
    );
    await connection.ready();
    const silent = watched(connection.callTool('silent'));
    await turn();
    clock.increment(60 * second - 1);
    await turn();
    expect(silent.outcome).toBe('pending');
    clock.increment(1);
    await expect.poll(() => silent.outcome).toBe('REQUEST_TIMEOUT');

    const lively = watched(connection.callTool('lively'));
    await expect.poll(() => server().sent.at(-1)?.params?.['name']).toBe('lively');
    const progressToken = server().sent.at(-1)?.id;
    for (let at = 1; at < 20; at++) {
      clock.increment(30 * second);
      server().say({ method: 'notifications/progress', params: { progressToken, progress: at } });
      await turn();
    }
    expect(lively.outcome).toBe('pending');
    clock.increment(30 * second);
    await expect.poll(() => lively.outcome).toBe('REQUEST_TIMEOUT');
  });

  test('allows 1,024 pending requests', async () => {
    const { connection } = before(({ method }) => (method === 'tools/call' ? 'never' : undefined));
    await connection.ready();
    const all = Array.from({ length: 1024 }, () => watched(connection.callTool('any')));
    await expect(connection.callTool('any')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    expect(connection.pending).toBe(1024);
    expect(new Set(all.map(({ outcome }) => outcome))).toEqual(new Set(['pending']));
  });

  test('queues 256 requests without a connection', async () => {
    const { connection } = before(() => 'never');
    const all = Array.from({ length: 256 }, () => watched(connection.callTool('any')));
    await expect(connection.callTool('any')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    expect(connection.pending).toBe(256);
    expect(new Set(all.map(({ outcome }) => outcome))).toEqual(new Set(['pending']));
  });
});

test('rejects requests beyond maxOutboundBytes until the server reads', async () => {
  const { connection, server } = before(
    ({ method }) => (method === 'tools/call' ? { content: [] } : undefined),
    {
      limits: { maxOutboundBytes: 1000 },
    },
  );
  await connection.ready();
  await connection.callTool('none');
  let take = () => {};
  const taken = new Promise<void>((resolve) => (take = resolve));
  server().taking = () => taken;
  const large = connection.callTool('first', { text: 'x'.repeat(2000) });
  const refused = connection.callTool('second');
  await expect(refused).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  // What is answered meanwhile is heard.
  await expect(large).resolves.toEqual({ content: [] });
  take();
  await turn();
  await expect(connection.callTool('third')).resolves.toEqual({ content: [] });
  const names = server().sent.flatMap(({ params }) => params?.['name'] ?? []);
  expect(names).toEqual(['none', 'first', 'third']);
});

test('rejects a message nested deeper than 256 and nothing else', async () => {
  const raw = fileURLToPath(new URL('raw-lines-server.mjs', import.meta.url));
  const connection: Connection = await connect(
    { command: process.execPath, args: [raw] },
    { era: 'legacy', report: () => {} },
  );
  onTestFinished(() => connection.close());
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const answer = (depth: number) =>
    `{"jsonrpc":"2.0","id":$ID,"result":{"content":${nested(depth)}}}\n`;
  const say = (line: string) => connection.callTool('any', { lines: [line], silent: true });
  await expect(say(answer(300))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  await expect(say(answer(200))).resolves.toHaveProperty('content');
});

test('rejects an invalid limit by name', () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ maxRunning: 0 }, 'limits.maxRunning must be a number of at least 1, got 0'],
    [{ maxPending: -1 }, 'limits.maxPending must be a number of at least 0, got -1'],
    [{ maxPending: NaN }, 'limits.maxPending must be a number of at least 0'],
    [{ maxPendings: 1 }, 'Unknown limit "maxPendings"'],
  ];
  for (const [limits, message] of wrong) {
    expect(() => connectionLimitsWith(limits)).toThrow(message);
  }
});

describe('followed tasks', () => {
  /** A server of 2025-11-25 that makes a task of each call, with the ids that it is given. */
  const tasksOf = (ids: readonly string[]): Script => {
    const left = [...ids];
    return ({ method, params }) => {
      const requests = { tools: { call: {} } };
      switch (method) {
        case 'initialize':
          return {
            protocolVersion: params?.['protocolVersion'],
            capabilities: { tools: {}, tasks: { requests } },
            serverInfo: { name: 'tasks', version: '1' },
          };
        case 'tools/list': {
          const execution = { taskSupport: 'required' };
          return { tools: [{ name: 'hold', inputSchema: { type: 'object' }, execution }] };
        }
        case 'tools/call':
          return { task: { taskId: left.shift(), status: 'working' } };
        default:
          return method === undefined ? undefined : 'never';
      }
    };
  };

  test.each<[string, readonly string[], RegExp]>([
    [
      'as many as requests may wait',
      ['a', 'b', 'c'],
      /task c cannot be followed: the host follows 2 tasks$/,
    ],
    ['each once', ['a', 'a'], /task a cannot be followed: the host follows it already$/],
  ])('are %s', async (_, ids, why) => {
    const { connection } = before(tasksOf(ids), { limits: { maxPending: 2 } });
    for (const id of ids.slice(0, -1))
      expect((await connection.callToolAsTask('hold')).id).toBe(id);
    await expect(connection.callToolAsTask('hold')).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: expect.stringMatching(why) as string,
    });
  });
});

test('removes its abort listener from the signal after the answer', async () => {
  const { connection, server } = before(({ method }) => (method === 'ping' ? {} : undefined));
  const controller = new AbortController();
  await connection.request('ping', {}, { signal: controller.signal });
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  controller.abort();
  await turn();
  expect(server().methods()).not.toContain('notifications/cancelled');
});

test('sends no unsubscribe without a connection', async () => {
  const script: Script = ({ method, params }) => {
    if (method === 'ping' || method?.startsWith('resources/')) return {};
    if (method !== 'initialize') return undefined;
    const capabilities = { resources: { subscribe: true } };
    const serverInfo = { name: 'watched', version: '1' };
    return { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo };
  };
  const restart = { initialMs: 1000, jitter: 0 };
  const { connection, clock, server } = before(script, { restart });
  await connection.ready();
  await connection.subscribe('test://a');
  server().onclose?.();
  await connection.unsubscribe('test://a');
  await expect.poll(() => connection.state.value).toBe('backoff');
  clock.increment(1000);
  await connection.request('ping');
  expect(server().methods()).toEqual(['initialize', 'notifications/initialized', 'ping']);
});

test('fetches a list again with refresh', async () => {
  const tools = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  const { connection, server } = before(({ method, params }) => {
    if (method === 'tools/list') return tools;
    if (method !== 'initialize') return undefined;
    const serverInfo = { name: 'listing', version: '1' };
    const capabilities = { tools: { listChanged: true } };
    return { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo };
  });
  const asked = () =>
    server()
      .methods()
      .filter((method) => method === 'tools/list').length;
  for (const options of [{}, {}]) await connection.listTools(options);
  expect(asked()).toBe(1);
  await connection.listTools({ refresh: true });
  expect(asked()).toBe(2);
});

test('does not send requests for undeclared capabilities', async () => {
  const { connection, server } = before(() => undefined);
  await connection.ready();
  for (const work of [connection.getPrompt('none'), connection.readResource('test://none')])
    await expect(work).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
  expect(server().methods()).toEqual(['initialize', 'notifications/initialized']);
});

test('rejects a limit of 0 that would block every request', () => {
  const refusal = 'limits.maxRunning must be a number of at least 1, got 0';
  expect(() => connectionLimitsWith({ maxRunning: 0 })).toThrow(new RangeError(refusal));
  expect(connectionLimitsWith({ maxWaiting: 0 })).toMatchObject({ maxWaiting: 0 });
});
