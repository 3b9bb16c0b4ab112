/** How requests are sent: by `fetch`, or by a dispatcher that a host gives. */
import { getEventListeners } from 'node:events';
import { createGzip, deflateSync, gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { sendingByDispatcher } from '../../src/http/dispatched.ts';
import type { HttpDispatcher } from '../../src/http/dispatched.ts';
import { HttpHost, errorOf } from './http-host.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

const answer = ({ message }: Scripted, result: object = { ok: 1 }) =>
  JSON.stringify({ jsonrpc: '2.0', id: message?.id, result });
const done = { kind: 'result', result: { ok: 1 } };
const isCall = ({ message }: Scripted) => message?.method === 'tools/call';

/** Node's own, with the interface of the undici that is within it. */
function platformsDispatcher(): HttpDispatcher {
  // Node makes it when it is first asked for something.
  void new Headers();
  return Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as HttpDispatcher;
}

function agent(): HttpDispatcher {
  const made = new Agent();
  onTestFinished(() => made.destroy());
  return made;
}

const senders: readonly (readonly [string, () => HttpDispatcher | undefined])[] = [
  ['fetch', () => undefined],
  ["Node's dispatcher", platformsDispatcher],
  ["an Agent of undici's", agent],
];
const dispatchers = senders.slice(1);

/** A host whose handshake is over, and the calls that its script answers. */
async function connected(script: (asked: Scripted) => unknown, dispatcher?: HttpDispatcher) {
  const server = await scriptedServer((asked) => (isCall(asked) ? script(asked) : greeted(asked)));
  const host = new HttpHost({ url: server.url.href }, { dispatcher });
  await host.greet();
  await host.facts.first(({ name }) => name === 'stream.absent');
  return { server, host };
}

function compressed({ response }: Scripted, coding: string, body: Uint8Array): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding });
  response.end(body);
}

describe.each(senders)('an answer, by %s,', (_, dispatcher) => {
  const connect = (script: (asked: Scripted) => unknown) => connected(script, dispatcher());

  test('may be compressed, and is asked for so', async () => {
    const { host, server } = await connect((asked) =>
      compressed(asked, 'gzip', gzipSync(answer(asked))),
    );
    expect(await host.request('tools/call')).toEqual(done);
    expect(server.asked.find(isCall)?.headers['accept-encoding']).toMatch(/\bgzip\b/);
  });

  test('may be a compressed stream: each event is read as it comes', async () => {
    const { host } = await connect((asked) => {
      asked.stream({ 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(asked.response);
      gzip.write(`data: ${answer(asked)}\n\n`);
      gzip.flush();
    });
    expect(await host.request('tools/call')).toEqual(done);
  });

  test('that is cancelled ends its connection, compressed or not', async () => {
    const { host, server } = await connect((asked) => {
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
    const { host } = await connect((asked) => asked.result({ text }));
    expect(await host.request('tools/call')).toEqual({ kind: 'result', result: { text } });
  });
});

// `fetch` has its own ways with codings that it does not know, and with a body that breaks within one.
describe.each(dispatchers)('an answer, by %s,', (_, dispatcher) => {
  const connect = (script: (asked: Scripted) => unknown) => connected(script, dispatcher());

  test('is read through all its codings, the last one first', async () => {
    const { host } = await connect((asked) =>
      compressed(asked, 'deflate, identity, X-Gzip', gzipSync(deflateSync(answer(asked)))),
    );
    expect(await host.request('tools/call')).toEqual(done);
  });

  test('that breaks within its compression fails its request', async () => {
    const { host } = await connect((asked) =>
      compressed(asked, 'gzip', gzipSync(answer(asked)).subarray(0, 30)),
    );
    expect(errorOf(await host.request('tools/call')).code).toBe('CLOSED');
  });

  test('in a coding that was not asked for fails its request, and names the coding', async () => {
    const { host } = await connect((asked) => compressed(asked, 'zip', gzipSync(answer(asked))));
    const { code, message } = errorOf(await host.request('tools/call'));
    expect([code, message]).toEqual(['CLOSED', expect.stringContaining('"zip"')]);
  });
});

test.each(dispatchers)('%s gets each request of its host, and fetch none', async (_, made) => {
  const dispatcher = made();
  const paths: unknown[] = [];
  vi.stubGlobal('fetch', () => expect.unreachable());
  onTestFinished(() => void vi.unstubAllGlobals());
  const { host } = await connected((asked) => asked.result({ ok: 1 }), {
    dispatch(request, handler) {
      paths.push((request as { readonly path: string }).path);
      return dispatcher?.dispatch(request, handler);
    },
  });
  paths.length = 0;
  expect(await host.request('tools/call')).toEqual(done);
  expect(paths).toEqual(['/mcp']);
});

test.each(dispatchers)('a server that %s cannot reach is a loss', async (_, dispatcher) => {
  const server = await scriptedServer(greeted);
  await server.stop();
  const host = new HttpHost({ url: server.url.href }, { dispatcher: dispatcher() });
  const { code, message } = errorOf(await host.request('initialize'));
  expect([code, message]).toEqual(['CLOSED', expect.stringContaining('is unreachable')]);
});

test('a fetch that a host has put in the place of the platform’s is used', async () => {
  const { fetch } = globalThis;
  const { host } = await connected((asked) => asked.result({ ok: 1 }));
  const urls: string[] = [];
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal('fetch', (url: URL, init: RequestInit) => {
    urls.push(url.pathname);
    return fetch(url, init);
  });
  expect(await host.request('tools/call')).toEqual(done);
  expect(urls).toEqual(['/mcp']);
});

test('a fetch and a dispatcher exclude each other', () => {
  const both = { fetch, dispatcher: platformsDispatcher() };
  expect(() => new HttpHost({ url: 'http://127.0.0.1/mcp' }, both)).toThrow(RangeError);
});

/** The part of undici's handler that matters here. */
interface HandlerOfUndici {
  onRequestStart(controller: object): void;
  onResponseStart(controller: object, status: number, headers: object): void;
  onResponseData(controller: object, piece: Uint8Array): void;
  onResponseError(controller: object, error: Error): void;
}

test('an answer that breaks before it was read is no whole one', async () => {
  const dispatcher: HttpDispatcher = {
    dispatch: (_, handler: HandlerOfUndici) => {
      const controller = { abort: () => {}, pause: () => {}, resume: () => {} };
      handler.onRequestStart(controller);
      handler.onResponseStart(controller, 200, { 'content-type': 'application/json' });
      handler.onResponseData(controller, Buffer.from('{"jsonrpc"'));
      handler.onResponseError(controller, new Error('It broke'));
    },
  };
  const url = new URL('http://127.0.0.1/mcp');
  const { signal } = new AbortController();
  const send = sendingByDispatcher(dispatcher);
  const { body } = await send({ method: 'POST', url, headers: {}, body: '{}', signal });
  expect(await body.read()).toMatchObject({ done: false });
  await expect(body.read()).rejects.toMatchObject({ cause: new Error('It broke') });
  await expect(body.read()).rejects.toThrow('The connection ended');
});

/** The callbacks of undici 6. */
interface HandlerOfUndici6 {
  onConnect(abort: (reason?: Error) => void): void;
  onHeaders(status: number, headers: readonly Buffer[], resume: () => void): boolean;
  onData(piece: Uint8Array): boolean;
  onComplete(): void;
  onError(error: Error): void;
}

/** A request whose fate is the test's. */
function held(cancelling = new AbortController()) {
  const given: (HandlerOfUndici6 & HandlerOfUndici)[] = [];
  const asked: object[] = [];
  const send = sendingByDispatcher({
    dispatch: (request, handler: HandlerOfUndici6 & HandlerOfUndici) => {
      asked.push(request);
      given.push(handler);
    },
  });
  const url = new URL('http://127.0.0.1/mcp?a=b');
  const { signal } = cancelling;
  const sent = send({ method: 'POST', url, headers: { accept: 'text/plain' }, body: '{}', signal });
  return { sent, asked, cancelling, handler: given[0] as HandlerOfUndici6 & HandlerOfUndici };
}

/** The head of an answer, as undici 6 gives it. */
const rawHeaders = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));

test('a request that is cancelled while it waits for a connection is not sent on it', async () => {
  const { sent, cancelling, handler } = held();
  cancelling.abort(new Error('enough'));
  await expect(sent).rejects.toThrow();
  const abort = vi.fn();
  handler.onConnect(abort);
  expect(abort).toHaveBeenCalledOnce();
  const other = held();
  other.cancelling.abort(new Error('enough'));
  await expect(other.sent).rejects.toThrow();
  other.handler.onRequestStart({ abort, pause: () => {}, resume: () => {} });
  expect(abort).toHaveBeenLastCalledWith(
    expect.objectContaining({ message: 'The request was aborted' }),
  );
});

test('an answer that ends while more of it is waited for is whole', async () => {
  const { sent, handler } = held();
  handler.onConnect(() => {});
  handler.onHeaders(200, ['content-type', 'text/plain'].map(Buffer.from), () => {});
  const more = (await sent).body.read();
  handler.onComplete();
  expect(await more).toEqual({ done: true });
});

test('a request that was cancelled before is not given to a dispatcher', async () => {
  const cancelling = new AbortController();
  cancelling.abort('enough');
  const { sent, asked } = held(cancelling);
  await expect(sent).rejects.toMatchObject({ cause: 'enough' });
  expect(asked).toEqual([]);
});

test('a request has its whole path and its headers, and an answer frees its signal', async () => {
  const { sent, asked, cancelling, handler } = held();
  expect(asked).toMatchObject([
    {
      origin: 'http://127.0.0.1',
      path: '/mcp?a=b',
      method: 'POST',
      headers: { accept: 'text/plain', 'accept-encoding': 'gzip, deflate' },
      body: '{}',
    },
  ]);
  handler.onConnect(() => {});
  handler.onHeaders(200, [], () => {});
  await sent;
  expect(getEventListeners(cancelling.signal, 'abort')).toHaveLength(1);
  handler.onComplete();
  expect(getEventListeners(cancelling.signal, 'abort')).toEqual([]);
});

test('an answer begins after those that only announce it, with all values of a header', async () => {
  const { sent, handler } = held();
  handler.onConnect(() => {});
  handler.onHeaders(103, rawHeaders('Link', 'early'), () => {});
  handler.onHeaders(200, rawHeaders('X-Abc', 'a', 'Link', 'b', 'link', 'c'), () => {});
  const response = await sent;
  expect([response.status, response.header('link'), response.header('x-ab')]).toEqual([
    200,
    'b, c',
    undefined,
  ]);
  const other = held();
  const controller = { abort: () => {}, pause: () => {}, resume: () => {} };
  other.handler.onRequestStart(controller);
  other.handler.onResponseStart(controller, 200, { link: ['b', 'c'], 'x-ab': 'a' });
  const given = await other.sent;
  expect([given.header('link'), given.header('x-ab')]).toEqual(['b, c', 'a']);
});

test('a body that is compressed is decompressed once, however often it is asked for', async () => {
  const { sent, handler } = held();
  handler.onConnect(() => {});
  handler.onHeaders(200, rawHeaders('content-encoding', 'gzip'), () => {});
  const response = await sent;
  expect(response.body).toBe(response.body);
  handler.onData(gzipSync('whole'));
  handler.onComplete();
  expect(await response.body.read()).toMatchObject({ value: new Uint8Array(Buffer.from('whole')) });
});

test('a connection waits while more than 64 KiB of its answer are unread, and goes on at once', async () => {
  const { sent, handler } = held();
  const [pause, resume] = [vi.fn(), vi.fn()];
  const controller = { abort: () => {}, pause, resume };
  handler.onRequestStart(controller);
  handler.onResponseStart(controller, 200, {});
  const { body } = await sent;
  const piece = new Uint8Array(32 * 1024);
  const arrived = (): number => {
    handler.onResponseData(controller, piece);
    return pause.mock.calls.length;
  };
  const read = async (): Promise<number> => {
    await body.read();
    return resume.mock.calls.length;
  };
  expect([arrived(), arrived(), arrived(), arrived()]).toEqual([0, 0, 1, 2]);
  expect([await read(), await read(), await read()]).toEqual([0, 1, 1]);
  // What is waited for never lies here.
  expect(await read()).toBe(1);
  const next = body.read();
  expect(arrived()).toBe(2);
  expect(await next).toEqual({ done: false, value: piece });
  expect([arrived(), arrived(), arrived()]).toEqual([2, 2, 3]);
});

test('an answer that nobody reads any more ends its connection, and has no more pieces', async () => {
  const { sent, handler } = held();
  const abort = vi.fn();
  handler.onConnect(abort);
  handler.onHeaders(200, [], () => {});
  const { body } = await sent;
  handler.onData(Buffer.from('some'));
  await body.cancel();
  expect(abort).toHaveBeenCalledOnce();
  expect(handler.onData(Buffer.from('more'))).toBe(true);
  handler.onError(new Error('It was ended'));
  expect(await body.read()).toEqual({ done: true });
});

test('an answer that is cancelled while more of it is waited for has ended', async () => {
  const { sent, handler } = held();
  handler.onConnect(() => {});
  handler.onHeaders(200, [], () => {});
  const { body } = await sent;
  const more = body.read();
  await body.cancel();
  expect(await more).toEqual({ done: true });
});

test('an answer in a coding that was not asked for ends its connection', async () => {
  const { sent, handler } = held();
  const abort = vi.fn();
  handler.onConnect(abort);
  handler.onHeaders(200, rawHeaders('content-encoding', 'zip'), () => {});
  await expect((await sent).body.read()).rejects.toThrow('"zip"');
  expect(abort).toHaveBeenCalledOnce();
});

test('a whole answer leaves its connection to the next one, though it is cancelled', async () => {
  const { sent, handler } = held();
  const abort = vi.fn();
  handler.onConnect(abort);
  handler.onHeaders(200, [], () => {});
  const { body } = await sent;
  handler.onComplete();
  await body.cancel();
  expect(abort).not.toHaveBeenCalled();
});

test('an answer that is cut off while more of it is waited for is none', async () => {
  const { sent, cancelling, handler } = held();
  const abort = vi.fn();
  handler.onConnect(abort);
  handler.onHeaders(200, [], () => {});
  const more = (await sent).body.read();
  cancelling.abort('enough');
  await expect(more).rejects.toMatchObject({ cause: 'enough' });
  expect(abort).toHaveBeenCalledOnce();
});

test('a request whose signal ends it is ended on its connection, whose answer comes too late', async () => {
  const { sent, cancelling, handler } = held();
  const abort = vi.fn();
  handler.onConnect(abort);
  cancelling.abort('enough');
  await expect(sent).rejects.toMatchObject({ cause: 'enough' });
  expect(handler.onHeaders(200, [], () => {})).toBe(true);
  handler.onError(new Error('It was ended'));
  expect(abort).toHaveBeenCalledOnce();
});
