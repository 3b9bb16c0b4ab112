/** When a node stores its sessions and waits for it, and how it handles sessions of others. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { Fact, HandlerContext } from 'mcp-actors';
import { TestClock, gate, flush } from 'mcp-actors/testing';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpOptions, ServerFactory } from '../../src/index.ts';
import { nodeHandler } from '../../src/node/index.ts';
import { StoreUnavailable } from '../../src/nodes/stores.ts';
import type { Directory, Stores } from '../../src/nodes/stores.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { EventReader, initializeRequest, jsonOf, postHeaders } from '../raw-client.ts';
import { keptAlive, reportLog } from '../serving.ts';

const away = () => new StoreUnavailable('away', 'It is away', { retryAfterMs: 2000 });
const revision = '2025-11-25';
const ready = { jsonrpc: '2.0', method: 'notifications/initialized' };
const ping = (id = 'p') => ({ jsonrpc: '2.0', id, method: 'ping' });
const call = (name: string, id: string | number = 'c') => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name },
});

/** Delayed or dropped directory calls of one node. */
type Change = (directory: Directory) => Partial<Directory>;

let clock: TestClock;
let shared: MemoryNodes;
beforeEach(() => {
  clock = new TestClock();
  clock.increment(1_000_000);
  shared = new MemoryNodes({ clock, leaseMs: 40_000 });
});

/** Advances time until a promise settles. */
async function passing<T>(coming: Promise<T>): Promise<T> {
  for (let times = 0; times < 2000; times++) {
    if (await hasCome(coming)) return coming;
    clock.increment(50);
  }
  throw new Error('It has not come in 100 s of the test’s clock');
}

/** True if the promise has settled. */
async function hasCome(coming: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const over = () => void (isOver = true);
  coming.then(over, over);
  for (let turns = 0; turns < 3; turns++) await flush();
  return isOver;
}

/** Serves at an address reachable by other nodes, until the test ends. */
async function serve(
  server: ServerFactory,
  options: HttpOptions & Pick<Required<HttpOptions>, 'stores'>,
) {
  const http = createServer(keptAlive);
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const handler = nodeHandler(server, { ...options, node: { url: url.href } });
  http.on('request', handler);
  const kill = () => {
    http.close();
    http.closeAllConnections();
  };
  onTestFinished(async () => {
    await passing(handler.close(0));
    kill();
  });
  const send = (method: string, message?: object, headers: object = {}, path = '/mcp') =>
    fetch(new URL(path, url), {
      method,
      headers: { ...postHeaders, ...headers },
      ...(message ? { body: JSON.stringify(message) } : {}),
    });
  return { handler, send, kill };
}

/** Starts another node with a client. */
async function start(
  run: (context: HandlerContext) => string | Promise<string> = () => 'ran',
  options: HttpOptions = {},
  change: Change = () => ({}),
) {
  const own = shared.start();
  let closings = 0;
  const stores: Stores = {
    ...own,
    directory: { ...own.directory, ...change(own.directory) },
    close: async () => void closings++,
  };
  const tool = (name: string, handler: typeof run) =>
    defineTool({ name, description: 'A tool', handler: (_, context) => handler(context) });
  const server = createMcpServer({
    name: 'shared',
    version: '1',
    stateKeys: [Buffer.alloc(32, 1).toString('base64')],
    tools: [tool('run', run), tool('one', () => '1'), tool('two', () => '2')],
    logging: {},
  });
  const listen = vi.spyOn(server, 'listen');
  const facts = reportLog();
  // A report that receives every state would watch each session.
  const report = Object.assign((fact: Fact) => facts.report(fact), { threshold: 'info' } as const);
  const session = { report };
  const served = await serve(server, { clock, report, session, ...options, stores });
  const { handler, send } = served;
  const greet = async (version = revision, more = {}) => {
    const greeted = await send('POST', initializeRequest(version), more);
    const id = greeted.headers.get('mcp-session-id') ?? '';
    return { ...more, 'mcp-session-id': id, 'mcp-protocol-version': version };
  };
  const begin = async (version = revision, more = {}) => {
    const session = await greet(version, more);
    expect((await send('POST', ready, session)).status).toBe(202);
    expect((await send('POST', ping(), session)).status).toBe(200);
    return session;
  };
  return {
    ...facts,
    handler,
    send,
    greet,
    begin,
    listened: () => listen.mock.calls.length,
    closings: () => closings,
    kill: () => {
      shared.kill(own);
      served.kill();
    },
  };
}

describe('the stored state of a session', () => {
  test('is written before initialize is answered and a notification accepted', async () => {
    const [putting, writing] = [gate(), gate()];
    const { send, greet } = await start(undefined, {}, ({ put, write }) => ({
      put: (...args) => putting.pass().then(() => put(...args)),
      write: (...args) => writing.pass().then(() => write(...args)),
    }));
    const greeted = send('POST', initializeRequest());
    await putting.arrived();
    expect(await hasCome(greeted)).toBe(false);
    putting.release();
    expect((await greeted).status).toBe(200);
    const session = await greet();
    const accepted = send('POST', ready, session);
    await writing.arrived();
    expect(await hasCome(accepted)).toBe(false);
    writing.release();
    expect((await accepted).status).toBe(202);
  });

  test('excludes rejected requests and includes successful parts of a batch', async () => {
    const { send, greet } = await start();
    const session = await greet('2025-03-26');
    const set = (id: number, level: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'logging/setLevel',
      params: { level },
    });
    expect(await jsonOf(await send('POST', set(1, 'nonsense'), session))).toHaveProperty('error');
    const facts = () => shared.rules.data.records.get(session['mcp-session-id'])?.facts;
    expect(Object.keys(facts() ?? {})).toEqual(['initialize']);
    await (await send('POST', [ready, set(2, 'error')], session)).json();
    expect(Object.keys(facts() ?? {})).toEqual(['initialize', 'initialized', 'logLevel']);
  });

  test('is unchanged by a batch that is rejected as a whole', async () => {
    const { send, begin } = await start();
    const answer = await send('POST', [ping()], await begin());
    expect([answer.status, await jsonOf(answer)]).toMatchObject([400, { error: {} }]);
  });

  test('includes items switched by a call before its answer; a failed write fails only that call', async () => {
    const [writing, returning] = [gate(), gate()];
    const failing = new Set<string>();
    const { send, begin } = await start(
      async (context) => {
        if (failing.size > 0) context.notify('test/step');
        context.session.disable('one');
        context.session.disable('two');
        await returning.pass();
        return 'switched';
      },
      {},
      ({ write }) => ({
        write: async (at, change) => {
          if (!change?.slot.startsWith('item:')) return write(at, change);
          if (failing.has(change.slot)) throw away();
          await writing.pass();
          return write(at, change);
        },
      }),
    );
    const session = await begin();
    const answer = send('POST', call('run'), session);
    await writing.arrived(2);
    returning.release(1);
    expect(await hasCome(answer)).toBe(false);
    writing.release(2);
    expect(await jsonOf(await answer)).toMatchObject({ result: {} });
    // Later requests wait for nothing.
    expect((await send('POST', ping(), session)).status).toBe(200);
    const third = await begin();
    const early = send('POST', call('run'), third);
    await writing.arrived(4);
    writing.release(1);
    await flush();
    // The first item is stored, the second is not.
    returning.release();
    expect(await hasCome(early)).toBe(false);
    failing.add('item:one');
    const other = await begin();
    writing.release();
    expect(await jsonOf(await early)).toMatchObject({ result: {} });
    const told = await new EventReader(await send('POST', call('run'), other)).messages();
    expect(told).toMatchObject([
      { method: 'test/step' },
      { id: 'c', error: { message: expect.stringContaining('It is away') as string } },
    ]);
    expect((await send('POST', ping(), other)).status).toBe(200);
  });

  test('is renewed while requests arrive or a stream is open, and not when idle', async () => {
    let touches = 0;
    const limits = { sessionIdleTimeoutMs: 80_000, keepaliveIntervalMs: 0 };
    const { send, begin } = await start(undefined, { limits }, ({ write }) => ({
      write: (at, change) => {
        if (!change) touches++;
        return write(at, change);
      },
    }));
    const session = await begin();
    const pass = async (seconds: number) => {
      touches = 0;
      for (let second = 0; second < seconds; second++) {
        clock.increment(1000);
        await flush();
      }
      return touches;
    };
    const use = () => send('POST', ping(), session);
    await pass(1);
    await use();
    // A quarter of the idle timeout after the last write.
    expect([await pass(18), await pass(1), await pass(21)]).toEqual([0, 1, 0]);
    await use();
    expect([await pass(1), await pass(1)]).toEqual([1, 0]);
    await use();
    expect([await pass(18), await pass(1)]).toEqual([0, 1]);
    const stream = new EventReader(await send('GET', undefined, session));
    await stream.next();
    expect(await pass(101)).toBe(5);
    await stream.leave();
    expect([await pass(19), await pass(50)]).toEqual([1, 0]);
  });
});

describe('a session that ends at its node', () => {
  test('is deleted for all nodes if it ended by itself', async () => {
    const [here, there] = [await start(), await start()];
    const session = await here.begin();
    here.handler.sessions[0]?.shutdown('enough', 0);
    expect((await there.send('POST', ping(), session)).status).toBe(404);
    expect((await here.send('POST', ping(), session)).status).toBe(404);
    expect([here.listened(), there.listened()]).toEqual([1, 0]);
  });

  test('reports its end and closes its streams if another node owns it', async () => {
    const { send, begin, handler, told } = await start();
    const session = await begin();
    const stream = new EventReader(await send('GET', undefined, session));
    const record = shared.rules.data.records.get(session['mcp-session-id'])!;
    shared.rules.data.records.set(record.id, { ...record, owner: 'other', fence: 9_000_000 });
    const level = { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'error' } };
    expect((await send('POST', level, session)).status).toBe(503);
    expect((await stream.rest()).at(-1)).toEqual({ retry: '1000' });
    expect(handler.sessions).toEqual([]);
    await expect(told('session.closed')).resolves.toMatchObject({
      details: { cause: { reason: expect.stringContaining('Another process') as string } },
    });
  });

  test('belongs to its principal until then, at its own node, too', async () => {
    const verifyToken = (subject: string) => ({ subject });
    const { send, begin } = await start(undefined, { authorization: { verifyToken } });
    const session = await begin(revision, { authorization: 'Bearer ada' });
    for (const method of ['GET', 'DELETE']) {
      const refused = await send(method, undefined, { ...session, authorization: 'Bearer bob' });
      expect(refused.status).toBe(404);
    }
    expect((await send('POST', ping(), session)).status).toBe(200);
  });
});

describe('a session of another node', () => {
  test('moves during the handshake, but not while a call is running', async () => {
    const held = gate();
    const here = await start(() => held.pass().then(() => 'here'));
    const there = await start(() => 'there');
    const idle = await here.greet();
    expect((await there.send('POST', ready, idle)).status).toBe(202);
    expect(here.handler.sessions).toEqual([]);
    const busy = await here.greet();
    const running = here.send('POST', call('run', 1), busy);
    await held.arrived();
    expect((await there.send('POST', ping(), busy)).status).toBe(200);
    held.release();
    expect(await jsonOf(await running)).toMatchObject({ result: { content: [{ text: 'here' }] } });
  });

  test('is restored once for concurrent requests', async () => {
    const [here, there] = [await start(), await start()];
    const session = await here.begin();
    here.kill();
    const answers = ['a', 'b', 'c'].map((id) => there.send('POST', call('run', id), session));
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect([there.listened(), there.handler.sessions.length]).toEqual([1, 1]);
  });

  test('continues where it is requested, whatever was cached', async () => {
    const [here, there] = [await start(), await start()];
    const session = await here.begin();
    expect((await there.send('POST', ping(), session)).status).toBe(200);
    here.kill();
    const deleted = await there.send('DELETE', undefined, session);
    expect(deleted.status).toBe(204);
  });

  test("has the only message of its stream and accepts its client's responses", async () => {
    const here = await start(async (context) => {
      context.notify('test/step');
      await new Promise(() => {});
      return '';
    });
    const there = await start(async (context) =>
      JSON.stringify(await context.request('test/question')),
    );
    const session = await here.begin();
    const cut = new EventReader(await here.send('POST', call('run', 7), session));
    const said = await cut.message();
    await flush();
    here.kill();
    const last = { ...session, 'last-event-id': said.id?.replace(/-\d+$/, '-0') };
    const repeated = new EventReader(await there.send('GET', undefined, last));
    expect((await repeated.message()).data).toEqual(said.data);
    const asked = new EventReader(await there.send('POST', call('run', 8), session));
    const { data } = await asked.message();
    const result = { jsonrpc: '2.0', id: data.id, result: {} };
    const answered = await there.send('POST', result, session);
    expect(answered.status).toBe(202);
    expect((await asked.message()).data).toMatchObject({ id: 8, result: {} });
  });

  test('is not restored without a free slot, or by a closing node', async () => {
    const [here, full] = [await start(), await start(undefined, { limits: { maxSessions: 1 } })];
    const sessions = [await here.begin(), await here.begin()];
    const other = await full.begin();
    const stream = await full.send('GET', undefined, other);
    here.kill();
    const refused = await full.send('POST', ping(), sessions[0]);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
    const held = gate();
    const closing = await start(() => held.pass().then(() => 'done'));
    const left = await closing.begin();
    const running = closing.send('POST', call('run'), await closing.begin());
    await held.arrived();
    expect((await closing.send('POST', ping(), other)).status).toBe(200);
    const closed = closing.handler.close();
    // A closing node does not forward new requests, either.
    expect((await closing.send('POST', ping(), other)).status).toBe(503);
    for (const session of [sessions[1], left]) {
      const late = await closing.send('DELETE', undefined, session);
      expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1']);
    }
    held.release();
    await (await running).text();
    await closed;
    expect([closing.closings(), full.closings()]).toEqual([1, 0]);
    await stream.body?.cancel();
  });

  test('is rejected once if it cannot be created here, without reporting a bug', async () => {
    const here = await start();
    const session = await here.begin();
    const facts = reportLog();
    const failing = await serve(
      () => {
        throw new Error('none today');
      },
      { clock, report: facts.report, stores: shared.start() },
    );
    here.kill();
    expect((await failing.send('POST', ping(), session)).status).toBe(500);
    await flush();
    expect(facts.facts.map(({ name }) => name)).toEqual(['server.failed']);
  });
});

describe('an HTTP+SSE session on several nodes', () => {
  const open = async (
    { send }: Pick<Awaited<ReturnType<typeof start>>, 'send'>,
    more: object = {},
  ) => {
    const events = new EventReader(await send('GET', undefined, more, '/sse'));
    return { events, address: async () => `/${String((await events.next())?.data)}` };
  };
  const hello = initializeRequest('2024-11-05');

  test('sends its client nothing before other nodes know it', async () => {
    const putting = gate();
    const node = await start(undefined, { sse: true }, ({ put }) => ({
      put: (...args) => putting.pass().then(() => put(...args)),
    }));
    const { address } = await open(node);
    await putting.arrived();
    const telling = address();
    expect(await hasCome(telling)).toBe(false);
    putting.release();
    expect(await telling).toContain('sessionId=');
  });

  test('ends if it cannot be stored', async () => {
    const node = await start(undefined, { sse: true }, () => ({
      put: () => Promise.reject(away()),
    }));
    const { events } = await open(node);
    await events.rest();
    await node.told('nodes.unavailable');
    expect(node.handler.sessions).toEqual([]);
  });

  test('belongs to its principal at every node', async () => {
    const verifyToken = (subject: string) => ({ subject });
    const options = { sse: true, authorization: { verifyToken } };
    const [here, there] = [await start(undefined, options), await start(undefined, options)];
    const [ada, bob] = ['ada', 'bob'].map((who) => ({ authorization: `Bearer ${who}` }));
    const { events, address } = await open(here, ada);
    const at = await address();
    expect((await there.send('POST', hello, bob, at)).status).toBe(404);
    expect((await there.send('POST', hello, ada, at)).status).toBe(202);
    expect((await events.message()).data).toMatchObject({ result: {} });
    expect((await here.send('POST', ping(), ada, at)).status).toBe(202);
    expect((await events.message()).data).toMatchObject({ id: 'p', result: {} });
  });

  test('receives changes of any node with its own server', async () => {
    const started = async () => {
      const server = createMcpServer({
        name: 'own',
        version: '1',
        stateKeys: [Buffer.alloc(32, 1).toString('base64')],
        tools: [defineTool({ name: 'one', description: 'One', handler: () => '1' })],
      });
      const report = () => {};
      const options = { clock, report, session: { report }, sse: true, stores: shared.start() };
      const { send } = await serve(() => server, options);
      return { server, send };
    };
    const [here, there] = [await started(), await started()];
    const { events, address } = await open(here);
    const at = await address();
    for (const message of [hello, ready]) await here.send('POST', message, {}, at);
    expect((await events.message()).data.id).toBe('init');
    await (await there.send('POST', initializeRequest())).text();
    const two = defineTool({ name: 'two', description: 'Two', handler: () => '2' });
    there.server.tools.add(two);
    const { data } = await passing(events.message());
    expect(data.method).toBe('notifications/tools/list_changed');
  });

  test('is not found by an invalid id, nor restored as a newer session', async () => {
    const sse = { sse: true };
    const [here, there] = [await start(undefined, sse), await start(undefined, sse)];
    expect((await there.send('POST', hello, {}, '/messages?sessionId=none')).status).toBe(404);
    const { address } = await open(here);
    const id = (await address()).replace(/.*=/, '');
    here.kill();
    const woken = await there.send('POST', ping(), { 'mcp-session-id': id });
    expect(woken.status).toBe(404);
  });
});
