/** Web `Request`s and `Response`s. */
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

test('reads a body in any chunks', async () => {
  const bytes = new TextEncoder().encode('a€b');
  const pieces = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  expect(await bodyOf(posted(pieces))).toEqual({ ok: true, text: 'a€b' });
});

test('rejects a long body and does not read its rest', async () => {
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

test('rejects a declared long body unread, and reads a missing one as empty', async () => {
  const silent = new ReadableStream({ pull: () => new Promise(() => {}) });
  const request = posted(silent);
  request.headers.set('content-length', '101');
  expect(await bodyOf(request)).toMatchObject({ ok: false, status: 413 });
  expect(await bodyOf(posted(null))).toEqual({ ok: true, text: '' });
});

test('accepts a body of the maximum length, declared or not', async () => {
  const request = posted('a'.repeat(100));
  request.headers.set('content-length', '100');
  expect(await bodyOf(request)).toMatchObject({ ok: true });
});

test("reads all known headers, with the URL's host as a fallback", () => {
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
  // Server platforms see headers that `Request` hides from scripts.
  const headers = new Map(Object.values(names).map((name) => [name, `of ${name}`]));
  Object.defineProperty(request, 'headers', { value: headers });
  expect(new WebExchange(request, exchangeContext()).head).toEqual(
    Object.fromEntries(Object.entries(names).map(([key, name]) => [key, `of ${name}`])),
  );
});

test('answers HEAD with status and headers, without a body', async () => {
  const exchange = new WebExchange(new Request(url, { method: 'HEAD' }), exchangeContext());
  exchange.answer({ status: 404, headers: { 'x-said': 'yes' }, body: 'no' });
  const response = await exchange.response;
  expect([response.status, response.headers.get('x-said'), response.body]).toEqual([
    404,
    'yes',
    null,
  ]);
});

test('rejects a body that is not UTF-8, was read before, or is locked', async () => {
  expect(await bodyOf(posted(Uint8Array.of(0xff)))).toMatchObject({ status: 400 });
  expect(await bodyOf(posted(Uint8Array.of(0xe2)))).toMatchObject({ status: 400 });
  const used = posted('{}');
  await used.text();
  expect(await bodyOf(used)).toMatchObject({ status: 500 });
  const held = posted('{}');
  held.body?.getReader();
  expect(await bodyOf(held)).toMatchObject({ status: 500 });
});

/** An exchange with a client that can disconnect, and the recorded notifications. */
function leaving() {
  const client = new AbortController();
  const exchange = new WebExchange(new Request(url, { signal: client.signal }), exchangeContext());
  const heard: string[] = [];
  exchange.onDisconnected(() => heard.push('gone'));
  return { exchange, client, heard };
}

test('reports a disconnect before the response once', () => {
  const { exchange, client, heard } = leaving();
  client.abort();
  client.abort();
  expect(heard).toEqual(['gone']);
  exchange.onDisconnected(() => heard.push('asked later'));
  expect(heard).toEqual(['gone', 'asked later']);
});

test('ignores the connection after the response', async () => {
  const { exchange, client, heard } = leaving();
  exchange.answer({ status: 200, body: 'ok' });
  client.abort();
  expect(heard).toEqual([]);
  const ended = leaving();
  ended.exchange.stream({}).end();
  ended.client.abort();
  expect(ended.heard).toEqual([]);
});

test('counts unread bytes of a stream and reports when its reader leaves', async () => {
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

test('cuts a stream that is not read in time', async () => {
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

test('fails the reader of a cut stream and reports the disconnect', async () => {
  const { exchange, heard } = leaving();
  const sink = exchange.stream({});
  const { body } = await exchange.response;
  sink.cut();
  await expect(body?.getReader().read()).rejects.toThrow('cut');
  expect(heard).toEqual(['gone']);
});

test('passes the request without credentials to the server factory', async () => {
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
