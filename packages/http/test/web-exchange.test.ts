/** What the endpoint sees of a `Request`, and what becomes of its `Response`. */
import { expect, test } from 'vitest';
import { createMcpServer } from '../../../src/index.ts';
import { httpHandler } from '../src/index.ts';
import type { ServedHttpRequest } from '../../../src/index.ts';
import type { Body } from '../src/http-exchange.ts';
import { WebExchange } from '../src/web-exchange.ts';
import { exchangeContext } from './exchange-context.ts';
import { initializeRequest, postHeaders } from './raw-client.ts';

const url = 'http://127.0.0.1/mcp?a=b';

const posted = (body: RequestInit['body']) =>
  new Request(url, { method: 'POST', body: body ?? null, duplex: 'half' } as RequestInit);

const bodyOf = (request: Request, home = exchangeContext({ maxBodyBytes: 100 })) =>
  new Promise<Body>((resolve) => new WebExchange(request, home).readBody(resolve));

test('a body is read in whatever pieces it comes', async () => {
  const bytes = new TextEncoder().encode('a€b');
  const pieces = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  expect(await bodyOf(posted(pieces))).toEqual({ ok: true, text: 'a€b' });
});

test('a body that is too long is refused, and its rest is not read', async () => {
  let wasCancelled = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(64)),
    cancel: () => {
      wasCancelled = true;
    },
  });
  expect(await bodyOf(posted(endless))).toMatchObject({ ok: false, status: 413 });
  expect(wasCancelled).toBe(true);
});

test('a body that says that it is too long is refused unread, and none at all is empty', async () => {
  const silent = new ReadableStream({ pull: () => new Promise(() => {}) });
  const request = posted(silent);
  request.headers.set('content-length', '101');
  expect(await bodyOf(request)).toMatchObject({ ok: false, status: 413 });
  expect(await bodyOf(posted(null))).toEqual({ ok: true, text: '' });
});

test('a body may be as long as bodies may be, and say so', async () => {
  const request = posted('a'.repeat(100));
  request.headers.set('content-length', '100');
  expect(await bodyOf(request)).toMatchObject({ ok: true });
});

test('the head has each header that an endpoint looks at, and the host of the URL if there is none', () => {
  const names = {
    host: 'host',
    origin: 'origin',
    accept: 'accept',
    authorization: 'authorization',
    contentType: 'content-type',
    contentEncoding: 'content-encoding',
    sessionId: 'mcp-session-id',
    protocolVersion: 'mcp-protocol-version',
  };
  const request = new Request(url);
  const bare = new WebExchange(request, exchangeContext());
  expect([bare.head, bare.header('host')]).toEqual([{ host: '127.0.0.1' }, '127.0.0.1']);
  // Hosts have headers that `Request` keeps from others.
  const headers = new Map(Object.values(names).map((name) => [name, `of ${name}`]));
  Object.defineProperty(request, 'headers', { value: headers });
  expect(new WebExchange(request, exchangeContext()).head).toEqual(
    Object.fromEntries(Object.entries(names).map(([key, name]) => [key, `of ${name}`])),
  );
});

test('a HEAD has the status and the headers of its answer, and no body', async () => {
  const exchange = new WebExchange(new Request(url, { method: 'HEAD' }), exchangeContext());
  exchange.answer({ status: 404, headers: { 'x-said': 'yes' }, body: 'no' });
  const response = await exchange.response;
  expect([response.status, response.headers.get('x-said'), response.body]).toEqual([
    404,
    'yes',
    null,
  ]);
});

test('a body that is not UTF-8, or was read before, or is read by somebody else, is refused', async () => {
  expect(await bodyOf(posted(Uint8Array.of(0xff)))).toMatchObject({ status: 400 });
  expect(await bodyOf(posted(Uint8Array.of(0xe2)))).toMatchObject({ status: 400 });
  const used = posted('{}');
  await used.text();
  expect(await bodyOf(used)).toMatchObject({ status: 500 });
  const held = posted('{}');
  held.body?.getReader();
  expect(await bodyOf(held)).toMatchObject({ status: 500 });
});

/** An exchange whose client may leave, and whether that was heard of. */
function leaving() {
  const client = new AbortController();
  const exchange = new WebExchange(new Request(url, { signal: client.signal }), exchangeContext());
  const heard: string[] = [];
  exchange.onDisconnected(() => heard.push('gone'));
  return { exchange, client, heard };
}

test('a client that leaves before it is answered is heard of once', () => {
  const { exchange, client, heard } = leaving();
  client.abort();
  client.abort();
  expect(heard).toEqual(['gone']);
  exchange.onDisconnected(() => heard.push('asked later'));
  expect(heard).toEqual(['gone', 'asked later']);
});

test('what happens to the connection after the answer is no matter', async () => {
  const { exchange, client, heard } = leaving();
  exchange.answer({ status: 200, body: 'ok' });
  client.abort();
  expect(heard).toEqual([]);
  const ended = leaving();
  ended.exchange.stream({}).end();
  ended.client.abort();
  expect(ended.heard).toEqual([]);
});

test('a stream counts what its reader has not taken, and hears when the reader leaves', async () => {
  const { exchange, heard } = leaving();
  const sink = exchange.stream({ 'content-type': 'text/event-stream' });
  const reader = (await exchange.response).body?.getReader();
  sink.write('data: €\n\n');
  sink.write('data: 2\n\n');
  expect(sink.unsentBytes).toBe(20);
  expect(new TextDecoder().decode((await reader?.read())?.value as Uint8Array)).toBe('data: €\n\n');
  expect(sink.unsentBytes).toBe(9);
  await reader?.cancel();
  expect(heard).toEqual(['gone']);
  sink.write('to nobody');
  expect(sink.unsentBytes).toBe(0);
});

test('a stream of which nothing is taken is cut, in its time', async () => {
  const home = exchangeContext({ unreadTimeoutMs: 100 });
  const exchange = new WebExchange(new Request(url), home);
  exchange.stream({}).write('said');
  const response = await exchange.response;
  expect(response.status).toBe(200);
  home.clock.increment(90);
  expect(home.maintenance.size).toBe(1);
  home.clock.increment(20);
  expect(home.maintenance.size).toBe(0);
  await expect(response.text()).rejects.toThrow('cut');
});

test('a stream that is cut fails at its reader, and its client is gone', async () => {
  const { exchange, heard } = leaving();
  const sink = exchange.stream({});
  const { body } = await exchange.response;
  sink.cut();
  await expect(body?.getReader().read()).rejects.toThrow('cut');
  expect(heard).toEqual(['gone']);
});

test('what chooses the server sees the request, without what shows who its client is', async () => {
  const seen: ServedHttpRequest[] = [];
  const handler = httpHandler((request) => {
    seen.push(request);
    return createMcpServer({ name: 'chosen', version: '1' });
  });
  const headers = { ...postHeaders, 'x-tenant': 'one', cookie: 'a=b', authorization: 'Basic YTpi' };
  const body = JSON.stringify(initializeRequest());
  const request = new Request(url, { method: 'POST', headers, body });
  expect((await handler(request, { remoteAddress: '192.0.2.1' })).status).toBe(200);
  const [{ method, target, remoteAddress, header, headerNames } = {} as ServedHttpRequest] = seen;
  expect([method, target, remoteAddress]).toEqual(['POST', '/mcp?a=b', '192.0.2.1']);
  expect([header('X-Tenant'), header('Cookie'), header('authorization')]).toEqual([
    'one',
    undefined,
    undefined,
  ]);
  const names = headerNames();
  expect(names).toContain('x-tenant');
  for (const secret of ['cookie', 'authorization']) expect(names).not.toContain(secret);
  await handler.close(0);
});
