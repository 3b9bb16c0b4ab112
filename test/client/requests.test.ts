/** When a host's request is sent, sent again or refused, before a server that does what its script says. */
import { connect } from 'mcp-actors/client';
import type { ConnectOptions } from 'mcp-actors/client';
import { expect, test } from 'vitest';
import { missingFor } from '../../src/client/connection/server-features.ts';
import { greeted, scriptedServer } from './http/scripted-server.ts';
import { scriptedConnection } from './scripted-transport.ts';
import type { Script } from './scripted-transport.ts';

async function before(script?: Script, options: ConnectOptions = {}) {
  const opened = scriptedConnection(script, options);
  await opened.connection.ready();
  return opened;
}

const greeting = ['initialize', 'notifications/initialized'];
const silent: Script = ({ method }) => (greeting.includes(method ?? '') ? undefined : 'never');

test('a request that is cancelled before it is made, or whose time cannot be, is not sent', async () => {
  const { connection, servers } = await before(silent);
  const signal = AbortSignal.abort('enough');
  await expect(connection.request('ping', {}, { signal })).rejects.toMatchObject({
    code: 'CANCELLED',
    cause: 'enough',
  });
  for (const timeoutMs of [0, NaN])
    await expect(connection.request('ping', {}, { timeoutMs })).rejects.toThrow(/^timeoutMs must/);
  await expect(connection.request('ping', {}, { maxTotalMs: -1 })).rejects.toThrow(
    /^maxTotalMs must/,
  );
  expect(servers[0]?.methods()).toEqual(greeting);
});

test('a request has its own times, each time, whatever the last one had', async () => {
  const { connection } = await before(silent);
  const minutes = 60_000;
  for (const options of [{}, { timeoutMs: 20 * minutes }, { maxTotalMs: 30_000 }, {}])
    connection.request('ping', {}, options).catch(() => {});
  const left = connection.dump().pending.map(({ leftMs }) => leftMs);
  expect(left).toEqual([minutes, 20 * minutes, 30_000, minutes]);
});

test('after a loss without a restart, requests are refused with its cause and its age', async () => {
  const { connection, clock, servers } = await before(silent);
  servers[0]?.onclose?.();
  await expect.poll(() => connection.state.value).toBe('failed');
  clock.increment(2000);
  const refused = connection.request('ping');
  await expect(refused).rejects.toMatchObject({ code: 'NOT_READY', cause: { code: 'CLOSED' } });
  await expect(refused).rejects.toThrow(/ping was not sent to .*: the connection failed 2 s ago\./);
  await connection.close();
  await expect(connection.request('ping')).rejects.toThrow('the connection is closed');
});

test.each<[what: string, method: string, params: object, times: number]>([
  ['a read', 'resources/read', { uri: 'test://a' }, 2],
  ['a call of a tool that only reads', 'tools/call', { name: 'reading' }, 2],
  ['what only has the name of such a tool', 'x/call', { name: 'reading' }, 1],
  ['a call without a name', 'tools/call', {}, 1],
])('%s that is lost is sent so often: %s %j %d', async (_, method, params, times) => {
  const restart = { initialMs: 1, maxMs: 1, jitter: 0 };
  const tools = [{ name: 'reading', inputSchema: {}, annotations: { readOnlyHint: true } }];
  let calls = 0;
  const { connection, clock, servers } = await before(
    (message, server) => {
      if (message.method === 'tools/list') return { tools };
      if (message.method !== method) return undefined;
      if (++calls > 1) return { content: [], contents: [] };
      queueMicrotask(() => server.onclose?.());
      return 'never';
    },
    { restart },
  );
  await connection.listTools();
  const sent = connection.request(method, params as never, { retry: 'reads' });
  const outcome = sent.catch(() => {});
  await expect.poll(() => connection.state.value).toBe('backoff');
  clock.increment(1);
  await outcome;
  if (times === 1) await expect(sent).rejects.toMatchObject({ code: 'CLOSED' });
  else expect(await sent).toMatchObject({ content: [] });
  const sentNow = servers.flatMap((server) => server.methods()).filter((each) => each === method);
  expect(sentNow).toHaveLength(times);
});

test('a read that its server refuses, or has no time for, is not sent again', async () => {
  const { connection, clock, servers } = await before((message, server) => {
    if (message.method !== 'resources/read') return undefined;
    if (message.params?.['uri'] === 'test://refused') {
      const error = { code: -32002, message: 'No such resource' };
      queueMicrotask(() => server.say({ id: message.id, error }));
    }
    return 'never';
  });
  const read = (uri: string) => connection.request('resources/read', { uri }, { retry: 'reads' });
  await expect(read('test://refused')).rejects.toMatchObject({ code: -32002 });
  const late = expect(read('test://late')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  clock.increment(60_000);
  await late;
  expect(servers[0]?.methods()).toEqual([
    ...greeting,
    'resources/read',
    'resources/read',
    'notifications/cancelled',
  ]);
});

test('a list that is waited for can be given up, and ends with its connection', async () => {
  const { connection } = await before(silent);
  const controller = new AbortController();
  const given = connection.listTools({ signal: controller.signal });
  const other = connection.listTools();
  controller.abort('enough');
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  const ended = expect(other).rejects.toBeInstanceOf(Error);
  await connection.close();
  await ended;
});

test.each<[method: string, capabilities: object | undefined, missing: string | undefined]>([
  ['tools/call', undefined, undefined],
  ['tools/call', {}, 'tools'],
  ['tools/call', { tools: {} }, undefined],
  ['ping', {}, undefined],
  // Servers of the first revisions do not declare it.
  ['completion/complete', {}, undefined],
  ['resources/read', { resources: {} }, undefined],
  ['resources/subscribe', {}, 'resources'],
  ['resources/subscribe', { resources: {} }, 'resources.subscribe'],
  ['resources/subscribe', { resources: { subscribe: 'yes' } }, 'resources.subscribe'],
  ['resources/subscribe', { resources: { subscribe: true } }, undefined],
])('%s before a server that declares %j lacks %s', (method, capabilities, missing) => {
  expect(missingFor(method, capabilities as never)).toBe(missing);
});

test('a server that was of the legacy era is not asked for its era again', async () => {
  const server = await scriptedServer(
    (asked) => greeted(asked) || asked.json({ error: 'What?' }, 404),
  );
  const entry = { url: server.url.href };
  for (const first of ['server/discover', 'initialize']) {
    server.asked.length = 0;
    const connection = await connect(entry, { report: () => {} });
    expect(connection.server?.era).toBe('legacy');
    await connection.close();
    expect(server.asked[0]?.message?.method).toBe(first);
  }
});
