/** Clients that leave before anybody has seen what they want: nothing is opened for them. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { httpHandler } from 'mcp-actors/http';
import type { AuthorizationOptions, HttpHandler } from 'mcp-actors/http';
import { gate, turn } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import type { EventStore } from '../../src/http/nodes/event-store.ts';
import { MemoryNodes } from '../../src/http/nodes/memory-stores.ts';
import type { Stores } from '../../src/http/nodes/stores.ts';
import { initializeOf, reported } from './legacy/raw-session.ts';
import { postHeaders } from './serving.ts';

const at = (path: string) => `http://127.0.0.1${path}`;

const push = defineTool({
  name: 'push',
  description: 'Notifies without a request',
  handler: (_, { session }) => {
    session.notify('test/step');
    return 'done';
  },
});

interface Headers {
  readonly [name: string]: string;
}

interface Options {
  readonly authorization?: AuthorizationOptions;
  readonly stores?: Stores;
}

/** An endpoint, until the test is over. */
function served(options: Options): HttpHandler {
  const stateKeys = [Buffer.alloc(32, 1).toString('base64')];
  const server = createMcpServer({ name: 'left', version: '1', tools: [push], stateKeys });
  const handler = httpHandler(server, { ...options, sse: true, report: reported().report });
  onTestFinished(() => handler.close());
  return handler;
}

/** Begins a session and calls the tool in it. @returns the headers of its requests */
async function begun(handler: HttpHandler, headers: Headers = {}): Promise<Headers> {
  const post = (message: object, more: Headers) =>
    handler(
      new Request(at('/mcp'), {
        method: 'POST',
        headers: { ...postHeaders, ...headers, ...more },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }),
    );
  const { headers: answered } = await post(initializeOf(), {});
  const session = { 'mcp-session-id': answered.get('mcp-session-id') ?? '' };
  await post({ method: 'notifications/initialized' }, session);
  const call = { id: 1, method: 'tools/call', params: { name: 'push' } };
  await (await post(call, session)).text();
  return { ...headers, ...session };
}

/** Asks for a stream, and leaves as soon as somebody waits at the door. */
async function leave(
  handler: HttpHandler,
  door: ReturnType<typeof gate>,
  { path = '/mcp', headers }: { readonly path?: string; readonly headers: Headers },
): Promise<void> {
  const client = new AbortController();
  const accept = 'text/event-stream';
  const { signal } = client;
  void handler(new Request(at(path), { headers: { accept, ...headers }, signal }));
  await door.arrived();
  client.abort();
  door.release();
  await turn();
}

/** An endpoint at whose door a token waits for long. */
function withSlowDoor() {
  const door = gate();
  const handler = served({
    authorization: {
      verifyToken: async (token) => {
        if (token === 'slow') await door.pass();
        return { subject: 'ada' };
      },
    },
  });
  return { door, handler };
}

const quick = { authorization: 'Bearer quick' };
const slow = { authorization: 'Bearer slow' };

test('a GET stream is not opened for them, and what waits for one goes on waiting', async () => {
  const { door, handler } = withSlowDoor();
  const headers = await begun(handler, quick);
  await leave(handler, door, { headers: { ...headers, ...slow } });
  const [session] = handler.sessions;
  expect(session?.dump().http).toMatchObject({ streams: [], waitingPushes: { count: 1 } });
});

test('a stream is not resumed for them: it has no connection', async () => {
  const { door, handler } = withSlowDoor();
  const headers = await begun(handler, quick);
  const accept = 'text/event-stream';
  const first = await handler(new Request(at('/mcp'), { headers: { ...headers, accept } }));
  await first.body?.cancel();
  await leave(handler, door, { headers: { ...headers, ...slow, 'last-event-id': '1-0' } });
  const [session] = handler.sessions;
  expect(session?.dump().http).toMatchObject({ streams: [{ state: 'cut' }] });
});

test('a session of HTTP+SSE is not begun for them', async () => {
  const { door, handler } = withSlowDoor();
  await leave(handler, door, { path: '/sse', headers: slow });
  expect(handler.sessions).toEqual([]);
});

test('the stream of another node is not followed for them', async () => {
  const nodes = new MemoryNodes();
  const headers = await begun(served({ stores: nodes.start() }));
  const stores = nodes.start();
  const door = gate();
  const calls: string[] = [];
  const events = new Proxy(stores.events, {
    get: (store, name: keyof EventStore) => {
      const method = store[name].bind(store) as (...args: readonly unknown[]) => unknown;
      return (...args: readonly unknown[]) => {
        calls.push(name);
        return name === 'replay' ? door.pass().then(() => method(...args)) : method(...args);
      };
    },
  });
  const other = served({ stores: { ...stores, events } });
  await leave(other, door, { headers: { ...headers, 'last-event-id': `${'a'.repeat(32)}.1.1-0` } });
  expect(calls).toEqual(['replay']);
});
