/**
 * Access to an endpoint: tokens are checked before the body, scopes before the session. Nothing is
 * opened for clients that disconnect before that.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { Fact } from 'mcp-actors';
import { httpHandler } from 'mcp-actors/http';
import type { AuthorizationOptions, HttpHandler, NodeOptions } from 'mcp-actors/http';
import { enveloped, gate, flush } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import type { Directory } from '../src/nodes/stores.ts';
import { MemoryNodes } from '../../nodes/test/memory-stores.ts';
import type { Stores } from '../src/nodes/stores.ts';
import { EventReader, initializeRequest, post, postHeaders } from './raw-client.ts';
import { reportLog, serveHttp } from './serving.ts';

const scopesOf: { readonly [token: string]: readonly string[] } = {
  ada: ['use'],
  ada2: ['use', 'write'],
  bob: ['use'],
  guest: [],
};

/** The letters of the token are its subject; a suffix distinguishes tokens. */
const authorization: AuthorizationOptions = {
  verifyToken: (token) => {
    const scopes = scopesOf[token];
    return scopes && { subject: token.replace(/\d/, ''), scopes };
  },
  resource: 'https://mcp.example.com/mcp',
  authorizationServers: ['https://auth.example.com'],
  requiredScopes: ['use'],
};

const server = createMcpServer({
  name: 'guarded',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'who',
      description: 'Says who calls.',
      handler: (_, { principal }) => `${principal?.subject} ${principal?.scopes.join()}`,
    }),
    defineTool({
      name: 'write',
      description: 'Needs more.',
      scopes: ['write'],
      handler: () => 'written',
    }),
  ],
});

const serveGuarded = () =>
  serveHttp(server, { authorization, allowedOrigins: ['https://a.example'] });

const as = (token: string, session?: string) => ({
  authorization: `Bearer ${token}`,
  ...(session === undefined ? {} : { 'mcp-session-id': session }),
});

async function sessionOf(url: URL, token: string): Promise<string> {
  const clientInfo = { name: 'c', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const begun = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, as(token));
  return begun.headers.get('mcp-session-id') ?? `${begun.status}`;
}

const call = (name: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
});

test('rejects a request without a token before its body has arrived', async () => {
  const url = await serveGuarded();
  const headers = { 'content-type': 'application/json', 'content-length': 100_000 };
  const status = await new Promise((resolve, reject) => {
    const unfinished = request(url, { method: 'POST', headers }, (response) => {
      resolve([response.statusCode, response.headers['www-authenticate']]);
      unfinished.destroy();
    });
    unfinished.on('error', reject);
    unfinished.flushHeaders();
  });
  expect(status).toEqual([401, expect.stringContaining('resource_metadata=')]);
});

test.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
  'serves the metadata at %s without authorization',
  async (path) => {
    const url = await serveGuarded();
    const found = await fetch(new URL(path, url));
    expect(found.status).toBe(200);
    expect(await found.json()).toMatchObject({
      resource: 'https://mcp.example.com/mcp',
      authorization_servers: ['https://auth.example.com'],
    });
    const posted = await fetch(new URL(path, url), { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  },
);

test('exposes the challenge to web pages', async () => {
  const url = await serveGuarded();
  const refused = await post(url, call('who'), { origin: 'https://a.example' });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  expect(refused.headers.get('access-control-allow-origin')).toBe('https://a.example');
});

test('rejects a token without the required scopes with 403', async () => {
  const refused = await post(await serveGuarded(), call('who'), as('guest'));
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope');
});

describe('a session with authorization', () => {
  test('accepts any token of its principal, and of nobody else', async () => {
    const url = await serveGuarded();
    const session = await sessionOf(url, 'ada');
    const own = await post(url, call('who'), as('ada2', session));
    expect(await own.text()).toContain('ada use,write');
    const others = await post(url, call('who'), as('bob', session));
    expect(others.status).toBe(404);
    const ended = await fetch(url, { method: 'DELETE', headers: as('bob', session) });
    expect(ended.status).toBe(404);
    const read = await fetch(url, { headers: { ...as('bob', session), accept: '*/*' } });
    expect(read.status).toBe(404);
    expect((await post(url, call('who'), as('ada', session))).status).toBe(200);
  });

  test('rejects a tool call without its scopes, and accepts a better token', async () => {
    const url = await serveGuarded();
    const session = await sessionOf(url, 'ada');
    const refused = await post(url, call('write'), as('ada', session));
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="use write"');
    const written = await post(url, call('write'), as('ada2', session));
    expect(await written.text()).toContain('written');
  });
});

test('binds an HTTP+SSE session to its principal and checks scopes', async () => {
  const url = await serveHttp(server, { authorization, sse: true });
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const headers = { ...as('ada'), accept: 'text/event-stream' };
  const stream = await fetch(new URL('/sse', url), { headers, signal: abort.signal });
  const events = new EventReader(stream);
  const messages = new URL(String((await events.next())?.data), url);
  await post(messages, initializeRequest('2024-11-05'), as('ada'));
  expect((await events.message()).data.result).toBeDefined();
  expect((await post(messages, call('who'), as('bob'))).status).toBe(404);
  const refused = await post(messages, call('write'), as('ada'));
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
    403,
    expect.stringContaining('scope="use write"'),
  ]);
  expect((await post(messages, call('write'), as('ada2'))).status).toBe(202);
  expect(JSON.stringify((await events.message()).data.result)).toContain('written');
});

test('passes the caller and its scopes to a sessionless request', async () => {
  const url = await serveGuarded();
  const modern = (name: string) => enveloped(1, 'tools/call', { name, arguments: {} });
  const headers = (token: string, name: string) => ({
    ...as(token),
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
  const who = await post(url, modern('who'), headers('bob', 'who'));
  expect(await who.text()).toContain('bob use');
  expect((await post(url, modern('write'), headers('bob', 'write'))).status).toBe(403);
  expect((await post(url, modern('write'), headers('ada2', 'write'))).status).toBe(200);
});

test('answers 503 for a token that cannot be checked, and logs why without the token', async () => {
  const facts: Fact[] = [];
  const verifyToken = () =>
    Promise.reject(new Error('the directory did not answer about secret-1'));
  const url = await serveHttp(server, {
    authorization: { ...authorization, verifyToken },
    report: (fact) => void facts.push(fact),
  });
  const refused = await post(url, call('who'), as('secret-1'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).not.toContain('directory');
  expect(facts).toMatchObject([{ level: 'warning', name: 'authorization.unavailable' }]);
  expect(facts[0]?.message).toContain('the directory did not answer about [token]');
});

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
  readonly node?: NodeOptions;
}

/** Serves an endpoint until the test ends. */
function served(options: Options): HttpHandler {
  const stateKeys = [Buffer.alloc(32, 1).toString('base64')];
  const server = createMcpServer({ name: 'left', version: '1', tools: [push], stateKeys });
  const handler = httpHandler(server, { ...options, sse: true, report: reportLog().report });
  onTestFinished(() => handler.close());
  return handler;
}

/**
 * Starts a session and calls the tool.
 *
 * @returns the headers of its requests
 */
async function begun(handler: HttpHandler, headers: Headers = {}): Promise<Headers> {
  const post = (message: object, more: Headers) =>
    handler(
      new Request(at('/mcp'), {
        method: 'POST',
        headers: { ...postHeaders, ...headers, ...more },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }),
    );
  const { headers: answered } = await post(initializeRequest(), {});
  const session = { 'mcp-session-id': answered.get('mcp-session-id') ?? '' };
  await post({ method: 'notifications/initialized' }, session);
  const call = { id: 1, method: 'tools/call', params: { name: 'push' } };
  await (await post(call, session)).text();
  return { ...headers, ...session };
}

/** Requests a stream and disconnects during authorization. */
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
  await flush();
}

/** An endpoint with a slow authorization. */
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

test('does not open a GET stream for a disconnected client, and keeps queued messages', async () => {
  const { door, handler } = withSlowDoor();
  const headers = await begun(handler, quick);
  await leave(handler, door, { headers: { ...headers, ...slow } });
  const [session] = handler.sessions;
  expect(session?.dump().http).toMatchObject({ streams: [], waitingPushes: { count: 1 } });
});

test('does not resume a stream for a disconnected client', async () => {
  const { door, handler } = withSlowDoor();
  const headers = await begun(handler, quick);
  const accept = 'text/event-stream';
  const first = await handler(new Request(at('/mcp'), { headers: { ...headers, accept } }));
  await first.body?.cancel();
  await leave(handler, door, { headers: { ...headers, ...slow, 'last-event-id': '1-0' } });
  const [session] = handler.sessions;
  expect(session?.dump().http).toMatchObject({ streams: [{ state: 'cut' }] });
});

test('does not start an HTTP+SSE session for a disconnected client', async () => {
  const { door, handler } = withSlowDoor();
  await leave(handler, door, { path: '/sse', headers: slow });
  expect(handler.sessions).toEqual([]);
});

test('does not forward a request for a disconnected client', async () => {
  const nodes = new MemoryNodes();
  let forwarded = 0;
  const http = createServer((_, response) => {
    forwarded++;
    response.end();
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  // The node probes its own URL.
  const probed = once(http, 'request');
  const owner = served({ stores: nodes.start(), node: { url } });
  await probed;
  const headers = await begun(owner);
  const stores = nodes.start();
  const door = gate();
  const directory: Directory = Object.assign({}, stores.directory, {
    find: (id: string) => door.pass().then(() => stores.directory.find(id)),
  });
  const other = served({ stores: { ...stores, directory }, node: { url: 'http://127.0.0.1:1/' } });
  const before = forwarded;
  await leave(other, door, { headers });
  await other.close();
  expect(forwarded).toBe(before);
});

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'keeper', version: '1' },
  },
};

test('keeps the connection of a request without a body open after an immediate response', async () => {
  const url = await serveHttp(laboratory);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const begun = await post(url, initialize);
  const session = begun.headers.get('mcp-session-id') ?? '';
  const answers: unknown[] = [];
  for (const method of ['PUT', 'DELETE', 'DELETE']) {
    const sent = request(url, { method, agent, headers: { 'mcp-session-id': session } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    answers.push([response.statusCode, response.headers.connection, sent.reusedSocket]);
  }
  expect(answers).toEqual([
    [405, 'keep-alive', false],
    [204, 'keep-alive', true],
    [404, 'keep-alive', true],
  ]);
});
