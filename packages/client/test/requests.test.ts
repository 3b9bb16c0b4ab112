/** When a host's request is sent, sent again or refused, before a server that does what its script says. */
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, HostRequestOptions } from 'mcp-actors/client';
import { TestClock, flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SentOptions } from '../src/connection/requests.ts';
import { missingFor } from '../src/connection/server-features.ts';
import { greeted, scriptedServer } from './http/scripted-server.ts';
import { scriptedConnection } from './scripted-transport.ts';
import type { Script, ScriptedTransport } from './scripted-transport.ts';

async function before(script?: Script, options: ConnectOptions = {}) {
  const opened = scriptedConnection(script, options);
  await opened.connection.ready();
  return { ...opened, server: opened.servers[0] as ScriptedTransport };
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
  const all = [{}, { maxTotalMs: 30_000 }, { timeoutMs: 20 * minutes }, { maxTotalMs: 30_000 }, {}];
  for (const options of all) connection.request('ping', {}, options).catch(() => {});
  const left = connection.dump().pending.map(({ leftMs }) => leftMs);
  expect(left).toEqual([minutes, 30_000, 20 * minutes, 30_000, minutes]);
});

test('a request has what is its own after one that has nothing, and the next one has not', async () => {
  const { connection, server } = await before(silent);
  const plain = () => void connection.request('x/plain').catch(() => {});
  plain();
  const controller = new AbortController();
  const cancelled = connection.request('x/own', {}, { signal: controller.signal });
  plain();
  const heard: unknown[] = [];
  const onProgress: HostRequestOptions['onProgress'] = (progress) => heard.push(progress);
  connection.request('x/told', {}, { onProgress }).catch(() => {});
  plain();
  await flush();
  for (const { id } of server.sent.slice(2))
    server.say({
      method: 'notifications/progress',
      params: { progressToken: id, progress: Number(id) },
    });
  const { id: told } = server.sent.find(({ method }) => method === 'x/told') ?? {};
  expect(heard).toEqual([{ progress: told }]);
  controller.abort('enough');
  await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  await flush();
  const { id } = server.sent.find(({ method }) => method === 'x/own') ?? {};
  expect(server.sent.slice(7)).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: id, reason: 'enough' } },
  ]);
});

test('a request that does not want to wait is refused while there is no connection', async () => {
  const { connection } = scriptedConnection(() => 'never');
  const waits = [{}, { whenAway: 'wait' }, { whenAway: 'refuse' }] as const;
  const codes = waits.map((options) =>
    connection.request('ping', {}, options).catch(({ code }: { readonly code: string }) => code),
  );
  expect(await codes[2]).toBe('NOT_READY');
  expect(connection.pending).toBe(2);
  await connection.close();
  expect(await Promise.all(codes)).toEqual(['CLOSED', 'CLOSED', 'NOT_READY']);
});

test('a progress callback that fails ends its request, with what it threw, and no other', async () => {
  const { connection, server } = await before(silent);
  const other = connection.request('x/other');
  let calls = 0;
  const failing = connection.request(
    'x/failing',
    {},
    {
      onProgress: () => {
        calls++;
        throw new Error('a bug');
      },
      // It is not sent again, and nobody is left who would hear of that.
      retry: 'reads',
    },
  );
  await flush();
  const [{ id: otherId }, { id: progressToken }] = server.sent.slice(2) as [object, object] as [
    { readonly id: number },
    { readonly id: number },
  ];
  for (const progress of [1, 2])
    server.say({ method: 'notifications/progress', params: { progressToken, progress } });
  await expect(failing).rejects.toThrow(/^a bug$/);
  expect(calls).toBe(1);
  await flush();
  expect(server.sent.slice(4)).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: progressToken } },
  ]);
  server.say({ id: progressToken, result: {} });
  server.say({ id: otherId, result: { it: 'goes on' } });
  expect(await other).toEqual({ it: 'goes on' });
});

test('what a server of the legacy era answers is given as it came', async () => {
  const result = { resultType: 'input_required', inputRequests: 1 };
  const { connection } = scriptedConnection(({ method }) =>
    method === 'initialize' ? undefined : result,
  );
  // Asked before the era is known, it may be of the modern one.
  await expect(connection.request('x/any')).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' });
  expect(await connection.request('x/any')).toEqual(result);
});

describe('a notification', () => {
  test('has its params, whether it waits for the connection or not', async () => {
    const { connection, servers } = scriptedConnection();
    const waits = connection.notify('notifications/a', { at: 1 });
    await connection.ready();
    await Promise.all([waits, connection.notify('notifications/b', { at: 2 })]);
    expect(servers[0]?.sent.slice(2)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/a', params: { at: 1 } },
      { jsonrpc: '2.0', method: 'notifications/b', params: { at: 2 } },
    ]);
  });

  test('that the server does not take has the time of a request, and can be given up', async () => {
    const { connection, server, clock } = await before();
    server.taking = () => new Promise(() => {});
    const controller = new AbortController();
    const given = connection.notify('x/given', {}, { signal: controller.signal });
    const late = [{}, { timeoutMs: 1000 }].map((options) =>
      expect(connection.notify('x/late', {}, options)).rejects.toMatchObject({
        code: 'REQUEST_TIMEOUT',
        message: expect.stringMatching(/^The server has not accepted x\/late within/) as string,
      }),
    );
    expect(connection.dump().pending.map(({ leftMs }) => leftMs)).toEqual([60_000, 60_000, 1000]);
    controller.abort('enough');
    await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    clock.increment(60_000);
    await Promise.all(late);
    await expect(connection.notify('x/none', {}, { timeoutMs: 0 })).rejects.toThrow(
      /^timeoutMs must/,
    );
  });
});

/** A call of a client's, on whose behalf a bridge asks. */
function callOfClient() {
  const controller = new AbortController();
  const callbacks: (() => void)[] = [];
  const within = {
    hasEnded: false,
    signal: controller.signal,
    whenEnded: (callback: () => void) => void callbacks.push(callback),
  };
  const end = (reason: string) => {
    within.hasEnded = true;
    controller.abort(reason);
    for (const callback of callbacks) callback();
  };
  return { within, end };
}

describe('what a bridge hands on', () => {
  const raw = (options: SentOptions = {}) => ({ raw: true, ...options }) as HostRequestOptions;

  test('goes as it is, together, and asks for progress only if its client does', async () => {
    const { connection, servers } = scriptedConnection(silent);
    const options = [raw(), raw({ onProgress: () => {} }), raw()];
    const ask = (method: string, some: HostRequestOptions) =>
      void connection.request(method, { at: 1 }, some).catch(() => {});
    ask('x/waits', raw());
    await connection.ready();
    await flush();
    const paramsOf = (sent: ScriptedTransport['sent'] = []) => sent.map(({ params }) => params);
    expect(paramsOf(servers[0]?.sent.slice(2))).toEqual([{ at: 1 }]);
    for (const turnOf of ['the first', 'another']) {
      const { length } = servers[0]?.sent ?? [];
      ask('x/own', {});
      for (const each of options) ask('x/goes', each);
      expect(servers[0]?.methods().slice(length)).toEqual(['x/own']);
      await flush();
      const [own, ...handedOn] = servers[0]?.sent.slice(length) ?? [];
      expect(own?.params).toEqual({ at: 1, _meta: { progressToken: own?.id } });
      const progressToken = handedOn[1]?.id;
      expect([turnOf, ...paramsOf(handedOn)]).toEqual([
        turnOf,
        { at: 1 },
        { at: 1, _meta: { progressToken } },
        { at: 1 },
      ]);
    }
  });

  test('is not sent if its call has ended in the same turn, and is given up if it ends later', async () => {
    const { connection, server } = await before(silent);
    const [ended, endsNow, endsLater] = [callOfClient(), callOfClient(), callOfClient()];
    ended.end('before');
    const refused = connection.request('x/ended', {}, raw(ended));
    const unsent = connection.request('x/now', {}, raw(endsNow));
    const sent = connection.request('x/later', {}, raw(endsLater));
    endsNow.end('at once');
    await expect(refused).rejects.toMatchObject({ code: 'CANCELLED', cause: 'before' });
    await expect(unsent).rejects.toMatchObject({ code: 'CANCELLED', cause: 'at once' });
    await flush();
    expect(server.methods().slice(2)).toEqual(['x/later']);
    endsLater.end('later');
    await expect(sent).rejects.toMatchObject({ code: 'CANCELLED', cause: 'later' });
    await flush();
    expect(server.sent.at(-1)).toMatchObject({ params: { reason: 'later' } });
  });

  test('is given up too if its call ends while it is sent again', async () => {
    const restart = { initialMs: 1, jitter: 0 };
    const { connection, clock, server, servers } = await before(silent, { restart });
    const { within, end } = callOfClient();
    const uri = 'test://a';
    const read = connection.request('resources/read', { uri }, raw({ within, retry: 'reads' }));
    await flush();
    server.onclose?.();
    await expect.poll(() => connection.state.value).toBe('backoff');
    clock.increment(1);
    await expect.poll(() => servers[1]?.methods()).toContain('resources/read');
    expect(servers[1]?.sent.at(-1)).toMatchObject({ params: { uri } });
    end('enough');
    await expect(read).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    await flush();
    expect(servers[1]?.sent.at(-1)).toMatchObject({ params: { reason: 'enough' } });
  });
});

describe('a call that a modern server asks something', () => {
  /** Wants each call again, with a state, once it has taken this time. */
  async function asking(takesMs: number, options: HostRequestOptions) {
    const script: Script = ({ method, params }) => {
      if (method === 'server/discover')
        return {
          ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
          ...{ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        };
      if (params?.['requestState'] !== undefined) return 'never';
      clock.increment(takesMs);
      return { resultType: 'input_required', requestState: 'again' };
    };
    const { connection, servers, clock } = scriptedConnection(script, { era: 'modern' });
    await connection.ready();
    clock.increment(5000);
    const called = connection.callTool('any', {}, options);
    const outcome = called.catch((error: unknown) => error);
    await expect.poll(() => servers[0]?.sent.at(-1)?.params?.['requestState']).toBe('again');
    return { connection, server: servers[0] as ScriptedTransport, clock, outcome };
  }

  test('has its time from the first request on, and each of its requests its own', async () => {
    const { connection, server, clock, outcome } = await asking(20_000, { maxTotalMs: 70_000 });
    expect(server.sent.at(-1)?.params).toMatchObject({ name: 'any', arguments: {} });
    expect(connection.dump().pending).toMatchObject([{ leftMs: 60_000 }]);
    clock.increment(49_999);
    await flush();
    expect(connection.pending).toBe(1);
    clock.increment(1);
    expect(await outcome).toMatchObject({
      code: 'REQUEST_TIMEOUT',
      message: 'tools/call did not complete within 70000 ms, including its input requests',
    });
    expect(connection.pending).toBe(0);
  });

  test('is cancelled in any of its requests', async () => {
    const controller = new AbortController();
    const { server, outcome } = await asking(0, { signal: controller.signal });
    const { id } = server.sent.at(-1) ?? {};
    controller.abort('enough');
    expect(await outcome).toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    await flush();
    expect(server.sent.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: id },
    });
  });
});

test('after a loss without a restart, requests are refused with its cause and its age', async () => {
  const { connection, clock, server } = await before(silent, { name: 'lab' });
  const unlisted = expect(connection.listTools()).rejects.toMatchObject({ code: 'CLOSED' });
  const read = connection.request('resources/read', { uri: 'test://a' }, { retry: 'reads' });
  clock.increment(5000);
  server.onclose?.();
  // Without another connection it cannot be sent again.
  await expect(read).rejects.toMatchObject({ code: 'CLOSED' });
  await unlisted;
  await expect.poll(() => connection.state.value).toBe('failed');
  clock.increment(2000);
  const refused = connection.request('ping');
  await expect(refused).rejects.toMatchObject({ code: 'NOT_READY', cause: { code: 'CLOSED' } });
  await expect(refused).rejects.toThrow(
    /^ping was not sent to lab: the connection failed 2 s ago\./,
  );
  for (const work of [connection.setLogLevel('debug'), connection.subscribe('test://a')])
    await expect(work).rejects.toMatchObject({ code: 'NOT_READY' });
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
  const sentNow = servers.flatMap((each) => each.sent.filter((one) => one.method === method));
  expect(sentNow).toMatchObject(Array.from({ length: times }, () => ({ params })));
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
  const { connection, clock } = await before(silent);
  const controller = new AbortController();
  const given = connection.listTools({ signal: controller.signal });
  const other = connection.listTools();
  controller.abort('enough');
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  const ended = expect(other).rejects.toBeInstanceOf(Error);
  await connection.close();
  await ended;
  await flush();
  // Nobody asks for it again.
  expect(clock.liveTimers).toBe(0);
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

test.each(['lost', 'closed'])(
  'a resource that is to be watched is waited for until the connection is %s',
  async (end) => {
    const capabilities = { resources: { subscribe: true } };
    const { connection, servers } = scriptedConnection(
      ({ method }) =>
        method === 'server/discover'
          ? {
              ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
              ...{ supportedVersions: ['2026-07-28'], capabilities },
            }
          : 'never',
      { era: 'modern' },
    );
    await connection.ready();
    const watched = connection.subscribe('test://a');
    await expect.poll(() => servers[0]?.methods()).toContain('subscriptions/listen');
    const refused = expect(watched).rejects.toMatchObject({ code: 'CLOSED' });
    if (end === 'lost') servers[0]?.onclose?.();
    else await connection.close();
    await refused;
  },
);

describe('that a server was of the legacy era', () => {
  const { restart, report } = { restart: 'none', report: () => {} } as const;
  test.each<[what: string, answer: 'error' | 'silence' | 'nothing', first: string]>([
    ['is forgotten if it refuses the handshake', 'error', 'server/discover'],
    ['is forgotten if it does not answer in time', 'silence', 'server/discover'],
    ['is remembered if it cannot be reached', 'nothing', 'initialize'],
  ])('%s', async (_, answer, first) => {
    let isWell = true;
    const server = await scriptedServer((asked) => {
      const error = { code: -32603, message: 'Not today' };
      if (isWell) return greeted(asked) || asked.json({ error: 'What?' }, 404);
      if (answer === 'error') return asked.json({ jsonrpc: '2.0', id: asked.message?.id, error });
      return answer === 'nothing' && asked.response.socket?.destroy();
    });
    const entry = { url: server.url.href };
    await (await connect(entry, { report })).close();
    isWell = false;
    const clock = new TestClock();
    const next = async () => {
      server.asked.length = 0;
      const connection = openConnection(entry, { clock, restart, report });
      onTestFinished(() => connection.close());
      const failed = connection.ready().catch(({ code }: { readonly code: string }) => code);
      const { message } = await server.next(({ method }) => method === 'POST');
      if (answer === 'silence') clock.increment(30_000);
      return { asked: message?.method, code: await failed };
    };
    expect(await next()).toMatchObject({ asked: 'initialize' });
    expect(await next()).toMatchObject({ asked: first });
  });
});

test('requests to a server that has refused the connection are refused with its status', async () => {
  const server = await scriptedServer((asked) => asked.text('Broken', 'text/plain', 500));
  const connection = openConnection(
    { url: server.url.href },
    { restart: 'none', report: () => {}, era: 'legacy' },
  );
  onTestFinished(() => connection.close());
  await expect(connection.ready()).rejects.toMatchObject({ status: 500 });
  await expect(connection.request('ping')).rejects.toMatchObject({
    code: 'NOT_READY',
    status: 500,
  });
});

test('each named request has what its host has given it', async () => {
  const results: { readonly [method: string]: object } = {
    'tools/call': { content: [] },
    'prompts/get': { messages: [] },
    'resources/read': { contents: [] },
    'completion/complete': { completion: { values: [] } },
  };
  const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {} };
  const { connection, clock, server } = await before(({ method = '', params }) => {
    if (method === 'ping') clock.increment(25);
    if (method !== 'initialize') return results[method] ?? {};
    const serverInfo = { name: 'scripted', version: '1' };
    return { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo };
  });
  await connection.callTool('a', { at: 1 });
  await connection.callTool('b');
  await connection.getPrompt('c', { at: 'here' });
  await connection.getPrompt('d');
  await connection.readResource('test://e');
  const ref = { type: 'ref/prompt', name: 'c' } as const;
  await connection.complete({ ref, argument: { name: 'at', value: 'h' } });
  await connection.subscribe('test://e');
  await connection.setLogLevel('warning');
  clock.increment(1000);
  expect(await connection.ping()).toBe(25);
  const sent = server.sent.slice(2).map(({ method, params: { _meta, ...params } = {} }) => {
    return [method, JSON.parse(JSON.stringify(params)) as object];
  });
  expect(sent).toEqual([
    ['tools/call', { name: 'a', arguments: { at: 1 } }],
    ['tools/call', { name: 'b' }],
    ['prompts/get', { name: 'c', arguments: { at: 'here' } }],
    ['prompts/get', { name: 'd' }],
    ['resources/read', { uri: 'test://e' }],
    ['completion/complete', { ref, argument: { name: 'at', value: 'h' } }],
    ['resources/subscribe', { uri: 'test://e' }],
    ['logging/setLevel', { level: 'warning' }],
    ['ping', {}],
  ]);
  server.taking = () => new Promise(() => {});
  const controller = new AbortController();
  const given = connection.subscribe('test://f', { signal: controller.signal });
  const late = connection.unsubscribe('test://e', { timeoutMs: 500 });
  const overdue = expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
  controller.abort('enough');
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
  clock.increment(500);
  await overdue;
});
