/** How requests are sent: beneath the platform's `fetch`, or by one that a host has put in its place. */
import { createGzip, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { HttpHost, errorOf } from './http-host.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

const answer = ({ message }: Scripted, result: object = { ok: 1 }) =>
  JSON.stringify({ jsonrpc: '2.0', id: message?.id, result });
const done = { kind: 'result', result: { ok: 1 } };
const isCall = ({ message }: Scripted) => message?.method === 'tools/call';

/** A host whose handshake is over, and the calls that its script answers. */
async function connected(script: (asked: Scripted) => unknown) {
  const server = await scriptedServer((asked) => (isCall(asked) ? script(asked) : greeted(asked)));
  const host = new HttpHost({ url: server.url.href });
  await host.greet();
  await host.facts.first(({ name }) => name === 'stream.absent');
  return { server, host };
}

function compressed({ response }: Scripted, coding: string, body: Uint8Array): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding });
  response.end(body);
}

describe('an answer', () => {
  test('may be compressed, and is asked for so', async () => {
    const { host, server } = await connected((asked) =>
      compressed(asked, 'gzip', gzipSync(answer(asked))),
    );
    expect(await host.request('tools/call')).toEqual(done);
    expect(server.asked.find(isCall)?.headers['accept-encoding']).toMatch(/\bgzip\b/);
  });

  test('is read through all its codings, the last one first', async () => {
    const { host } = await connected((asked) =>
      compressed(asked, 'deflate, identity, X-Gzip', gzipSync(deflateSync(answer(asked)))),
    );
    expect(await host.request('tools/call')).toEqual(done);
  });

  test('in a coding that was not asked for fails its request, and names the coding', async () => {
    const { host } = await connected((asked) => compressed(asked, 'zip', gzipSync(answer(asked))));
    const { code, message } = errorOf(await host.request('tools/call'));
    expect([code, message]).toEqual(['CLOSED', expect.stringContaining('"zip"')]);
  });

  test('that breaks within its compression fails its request', async () => {
    const { host } = await connected((asked) =>
      compressed(asked, 'gzip', gzipSync(answer(asked)).subarray(0, 30)),
    );
    expect(errorOf(await host.request('tools/call')).code).toBe('CLOSED');
  });

  test('may be a compressed stream: each event is read as it comes', async () => {
    const { host } = await connected((asked) => {
      asked.stream({ 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(asked.response);
      gzip.write(`data: ${answer(asked)}\n\n`);
      gzip.flush();
    });
    expect(await host.request('tools/call')).toEqual(done);
  });

  test('that is cancelled ends its connection, compressed or not', async () => {
    const { host, server } = await connected((asked) => {
      asked.stream({ 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(asked.response);
      gzip.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' })}\n\n`);
      gzip.flush();
    });
    void host.request('tools/call', {}, 7);
    const { response } = await server.next(isCall);
    const closed = new Promise((resolve) => response.once('close', resolve));
    await host.heard.first((frame) => frame.kind === 'notification');
    host.cancel(7);
    await closed;
  });

  test('that comes faster than it is read is whole', async () => {
    const text = 'é'.repeat(2 ** 20);
    const { host } = await connected((asked) => asked.result({ text }));
    expect(await host.request('tools/call')).toEqual({ kind: 'result', result: { text } });
  });
});

describe("the platform's fetch", () => {
  const dispatcher = Symbol.for('undici.globalDispatcher.1');
  const { fetch } = globalThis;
  // Node makes its dispatcher when it is first asked for something.
  void new Headers();
  const original = Reflect.get(globalThis, dispatcher) as { dispatch(...of: unknown[]): unknown };
  afterEach(() => {
    Reflect.set(globalThis, dispatcher, original);
    vi.unstubAllGlobals();
  });

  test('is passed by: requests go to its dispatcher, also to one that a host has set', async () => {
    const paths: unknown[] = [];
    const { host } = await connected((asked) => asked.result({ ok: 1 }));
    Reflect.set(globalThis, dispatcher, {
      dispatch(request: { readonly path: string }, handler: object) {
        paths.push(request.path);
        return original.dispatch(request, handler);
      },
    });
    expect(await host.request('tools/call')).toEqual(done);
    expect(paths).toEqual(['/mcp']);
  });

  test('is used if a host has put another in its place', async () => {
    const { host } = await connected((asked) => asked.result({ ok: 1 }));
    const urls: string[] = [];
    vi.stubGlobal('fetch', (url: URL, init: RequestInit) => {
      urls.push(url.pathname);
      return fetch(url, init);
    });
    expect(await host.request('tools/call')).toEqual(done);
    expect(urls).toEqual(['/mcp']);
  });
});
