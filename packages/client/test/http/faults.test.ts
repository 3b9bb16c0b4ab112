/** What servers get wrong, and what breaks: each costs what it must, and is told for what it is. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestClock, flush } from 'mcp-actors/testing';
import { networkFailure, statusError } from '../../src/http/failures.ts';
import { HttpHost, errorOf } from './http-host.ts';
import type { HostOptions } from './http-host.ts';
import {
  Poured,
  anywhere,
  brokenWith,
  fetchingHost,
  jsonOf,
  resultOf,
  scriptedFetch,
  typesOf,
} from './scripted-fetch.ts';
import { scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

/** What becomes of a call that is answered so. */
async function answered(script: (asked: Scripted) => unknown, options = {}) {
  const server = await scriptedServer(script);
  const host = new HttpHost({ url: server.url.href }, options);
  host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
  const outcome = await host.request('tools/call', { name: 'x' }, 1);
  return { host, server, outcome };
}

describe('an answer over HTTP', () => {
  test.each<[what: string, type: string, body: string, message: string]>([
    ['a page', 'text/html', '<h1>\n Hello </h1>', 'is text/html (status 200): <h1> Hello </h1>'],
    ['nothing', '', '', 'is nothing (status 200)'],
    ['an empty page', 'text/html', '', 'is text/html (status 200)'],
    ['of no type', '', 'Hello', 'is a body of no type (status 200): Hello'],
    ['no JSON', 'application/json', '{"jsonrpc"', 'must be a JSON-RPC message: Parse error: '],
    [
      'no message',
      'application/json',
      '{"ok":true}',
      'must be a JSON-RPC message: Invalid request: ',
    ],
    ['empty', 'application/json', '', 'must be a JSON-RPC message: Parse error: '],
    [
      'a message of a stranger',
      'application/json',
      '{"jsonrpc":"2.0","id":"1","result":{}}',
      'is a message that does not answer it',
    ],
  ])('that is %s fails its request, with what it is', async (_, type, body, message) => {
    const { outcome } = await answered((asked) => asked.text(body, type));
    const error = errorOf(outcome);
    expect(error.code).toBe('PROTOCOL_VIOLATION');
    expect(error.message).toContain(`The server's answer to tools/call ${message}`);
  });

  test('may begin with a byte order mark', async () => {
    const text = '\ufeff{"jsonrpc":"2.0","id":1,"result":{}}';
    const { outcome } = await answered((asked) =>
      asked.text(text, 'Application/JSON; charset=utf-8'),
    );
    expect(outcome).toEqual({ kind: 'result', result: {} });
  });

  test('may be of a type that is written as JSON', async () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{}}';
    const { outcome } = await answered((asked) => asked.text(text, 'application/vnd.example+json'));
    expect(outcome).toEqual({ kind: 'result', result: {} });
  });

  test('without content is none for a request', async () => {
    const { outcome } = await answered((asked) => asked.text('', '', 202));
    expect(errorOf(outcome).message).toBe(
      "The server's answer to tools/call is nothing (status 202)",
    );
  });

  test('with an error of its own is that error, whatever the status', async () => {
    const error = { code: -32_603, message: 'broken' };
    const { host, outcome } = await answered((asked) =>
      asked.json({ jsonrpc: '2.0', id: 1, error }, 500),
    );
    expect(outcome).toEqual({ kind: 'error', error });
    expect(host.settledAgain).toEqual([]);
  });

  test.each<[what: string, status: number, body: object]>([
    ['an error of another request', 400, { id: 'other', error: { code: -32_600, message: 'no' } }],
    ['an error that is no object', 400, { id: 1, error: 'no' }],
    ['a result', 300, { id: 1, result: {} }],
    ['a path that is not there, in no session', 404, {}],
    ['a redirection that a browser hides', 0, {}],
  ])('with a status and %s is a refusal, and no loss', async (_, status, body) => {
    const { host } = fetchingHost(() =>
      status === 0 ? Response.error() : jsonOf({ jsonrpc: '2.0', ...body }, status),
    );
    expect(errorOf(await host.request('tools/call', {}, 1))).toMatchObject({
      code: 'HTTP_STATUS',
      status,
    });
    expect(typesOf(host)).toEqual(['channel.opened']);
  });

  test('with status 503 fails its request, and makes room for the next; nothing is lost', async () => {
    const { host } = fetchingHost(
      (asked) => (asked.message?.method === 'ping' ? resultOf(asked) : jsonOf({}, 503)),
      { maxOpenRequests: 1 },
    );
    const error = errorOf(await host.request('tools/call'));
    expect(error).toMatchObject({ code: 'HTTP_STATUS', status: 503 });
    expect(await host.request('ping')).toEqual({ kind: 'result', result: {} });
    expect(typesOf(host)).toEqual(['channel.opened']);
  });

  test('may be in a batch', async () => {
    const { host } = fetchingHost(
      (asked) => {
        if (asked.message?.method === 'ping') return resultOf(asked);
        const { id } = asked.message ?? {};
        return jsonOf([
          { jsonrpc: '2.0', id, method: 'roots/list' },
          { jsonrpc: '2.0', id, result: {} },
        ]);
      },
      { maxOpenRequests: 1 },
    );
    const settled = vi.fn();
    void host.request('tools/call').then(settled);
    expect(await host.heard.first(() => true)).toMatchObject({ kind: 'batch' });
    await host.request('ping');
    expect(settled).not.toHaveBeenCalled();
  });

  test('may come in two pieces', async () => {
    const { host } = fetchingHost(() => {
      const body = new Poured();
      body.write('{"jsonrpc":"2.0","id":1,');
      body.write('"result":{}}');
      body.end();
      return body.answer('application/json');
    });
    expect(await host.request('tools/call', {}, 1)).toEqual({ kind: 'result', result: {} });
  });

  test.each<[what: string, options: HostOptions, pour: (body: Poured) => void, message: RegExp]>([
    [
      'has a long body',
      {},
      (body) => {
        body.write('Away ');
        body.write('x'.repeat(70_000));
      },
      /status 418: Away x/,
    ],
    [
      'breaks',
      {},
      (body) => {
        body.write('Away');
        setImmediate(() => body.break(new Error('broke')));
      },
      /status 418: Away$/,
    ],
  ])('that is refused and %s shows its beginning', async (_, options, pour, message) => {
    const { host } = fetchingHost(() => {
      const body = new Poured();
      pour(body);
      return body.answer('text/plain', 418);
    }, options);
    expect(errorOf(await host.request('tools/call')).message).toMatch(message);
  });

  test.each<[what: string, type: string, text: string]>([
    ['an event', 'text/event-stream', `data: ${'x'.repeat(3000)}\n\n`],
    ['a body', 'application/json', `"${'x'.repeat(3000)}`],
  ])('of more than the limit in %s is read no further', async (_, type, text) => {
    const body = new Poured();
    const { host } = fetchingHost(() => body.answer(type), { limits: { maxLineBytes: 2000 } });
    const outcome = host.request('tools/call');
    body.write(text);
    await body.letGo;
    expect(errorOf(await outcome).code).toBe('LIMIT_EXCEEDED');
  });

  test('to an answer of the host that refuses it is told as a loss of that answer', async () => {
    const { host } = fetchingHost(() => new Response('no', { status: 400 }));
    host.send({ jsonrpc: '2.0', id: 'q', result: {} } as never);
    const told = await host.facts.first(({ name }) => name === 'output.lost');
    expect(told.message).toMatch(/^a response: .* answered with status 400: no$/);
    expect(host.settledAgain).toEqual([]);
  });

  test('to a notification is let go of, whatever it is, and the notification is taken', async () => {
    const body = new Poured();
    const { host } = fetchingHost(() => body.answer());
    expect(await host.tell('notifications/roots/list_changed')).toBe('taken');
    await body.letGo;
  });

  test('with a status shows the beginning of its body, without secrets', async () => {
    const body = `{"error":"bad","token":"${'s3cret'.repeat(3)}"} ${'x'.repeat(5000)}`;
    const { outcome } = await answered((asked) => asked.text(body, 'application/json', 418));
    const error = errorOf(outcome);
    expect([error.code, error.status]).toEqual(['HTTP_STATUS', 418]);
    expect(error.message).toMatch(
      /^tools\/call: http:\/\/127.0.0.1:\d+\/mcp answered with status 418: /,
    );
    expect(error.message).toContain('"error":"bad"');
    expect(error.message).not.toContain('s3cret');
    expect(error.message.length).toBeLessThan(500);
  });

  test.each<[what: string, script: (asked: Scripted) => unknown]>([
    [
      'a body',
      (asked) =>
        asked.text(
          `{"jsonrpc":"2.0","id":1,"result":{"a":"${'x'.repeat(3000)}"}}`,
          'application/json',
        ),
    ],
    ['a body that never ends', endless('application/json', '[')],
    ['an event', (asked) => asked.text(`data: ${'x'.repeat(3000)}\n\n`, 'text/event-stream')],
    [
      'an event before the answer',
      (asked) => {
        const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
        asked.text(`data: ${'x'.repeat(3000)}\n\ndata: ${answer}\n\n`, 'text/event-stream');
      },
    ],
    ['an event that never ends', endless('text/event-stream', 'data: x\n')],
    ['a line that never ends', endless('text/event-stream', 'data: x')],
  ])('of more than the limit in %s fails its request, and nothing else', async (_, script) => {
    let nth = 0;
    const { host, outcome } = await answered(
      (asked) => (++nth === 1 ? script(asked) : asked.result()),
      {
        limits: { maxLineBytes: 2000 },
      },
    );
    expect(errorOf(outcome)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      message: "The server's answer to tools/call has a message of more than 2000 bytes",
    });
    expect(await host.request('ping')).toEqual({ kind: 'result', result: {} });
  });

  test('that nests too deep fails its request', async () => {
    const deep = `${'['.repeat(300)}${']'.repeat(300)}`;
    const text = `{"jsonrpc":"2.0","id":1,"result":{"a":${deep}}}`;
    const { outcome } = await answered((asked) => asked.text(text, 'application/json'));
    expect(errorOf(outcome).code).toBe('LIMIT_EXCEEDED');
  });

  test('that is cut at any byte fails its request, and nothing else', async () => {
    const whole = rawAnswer('{"jsonrpc":"2.0","id":1,"result":{}}', 'application/json');
    const events = rawAnswer(
      'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
      'text/event-stream',
    );
    for (const text of [whole, events]) {
      const url = await cuttingServer(text);
      const host = new HttpHost({ url });
      host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
      for (let at = 0; at < text.length; at++) {
        const outcome = await host.request('tools/call', { at }, 1);
        if (outcome.kind !== 'result') expect(errorOf(outcome).code).toBe('CLOSED');
        // Only what all of the message was in can be an answer.
        else expect(text.slice(0, at)).toContain('"result":{}}');
      }
      expect(await host.request('tools/call', { at: text.length }, 1)).toMatchObject({
        kind: 'result',
      });
      expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened']);
    }
  });
});

describe('a handshake', () => {
  test.each<[what: string, pour: (body: Poured) => unknown]>([
    ['without an answer', () => brokenWith('ECONNRESET')],
    ['in the middle of a stream', (body) => body.end()],
  ])('that breaks %s is a loss: the server may come back', async (_, pour) => {
    const { fetch } = scriptedFetch(() => {
      const body = new Poured();
      pour(body);
      return body.answer();
    });
    const host = new HttpHost(anywhere, { fetch });
    const error = errorOf(await host.initialize());
    expect([error.code, error.message]).toEqual([
      'CLOSED',
      expect.stringMatching(/(?:to|of) initialize/),
    ]);
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unreachable', error } });
  });

  test('whose stream has too long an event fails, and is no loss', async () => {
    const { fetch } = scriptedFetch(() => {
      const body = new Poured();
      body.write(`data: ${'x'.repeat(3000)}\n\n`);
      return body.answer();
    });
    const host = new HttpHost(anywhere, { fetch, limits: { maxLineBytes: 2000 } });
    expect(errorOf(await host.initialize()).code).toBe('LIMIT_EXCEEDED');
    expect(typesOf(host)).toEqual(['channel.opened']);
  });
});

describe('a server that cannot be reached', () => {
  test('is told with its host and port; the request is given back, because it was never there', async () => {
    const server = await scriptedServer((asked) => {
      asked.response.setHeader('connection', 'close');
      asked.result();
    });
    const clock = new TestClock();
    const host = new HttpHost({ url: server.url.href }, { clock });
    host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    await host.request('ping');
    await server.stop();
    expect(await host.request('ping')).toEqual({ kind: 'returned' });
    const { loss } = await host.told('channel.lost');
    expect(loss).toMatchObject({ kind: 'unreachable' });
    expect(clock.liveTimers).toBe(0);
    const error = (loss as { error: Error }).error;
    expect(error.message).toBe(`${server.url.href} is unreachable: connect ECONNREFUSED`);
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('is told once all that was refused with it is given back too', async () => {
    const refusals: (() => void)[] = [];
    const refuse = () =>
      new Promise<never>((_, reject) => {
        const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
        refusals.push(() => reject(new TypeError('fetch failed', { cause })));
      });
    const host = new HttpHost({ url: 'http://127.0.0.1/mcp' }, { fetch: refuse });
    host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    const calls = [host.request('tools/list'), host.request('prompts/list')];
    await expect.poll(() => refusals.length).toBe(2);
    const isAnnounced = () => host.reports.all.some(({ type }) => type === 'channel.lost');
    refusals[0]?.();
    expect(await calls[0]).toEqual({ kind: 'returned' });
    await new Promise(setImmediate);
    expect(isAnnounced()).toBe(false);
    refusals[1]?.();
    expect(await calls[1]).toEqual({ kind: 'returned' });
    await host.told('channel.lost');
  });

  test('is told after a second, if what becomes of another call takes longer', async () => {
    const clock = new TestClock();
    const refusal = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    let sent = 0;
    const fetch = () => (++sent === 1 ? new Promise<never>(() => {}) : Promise.reject(refusal));
    const host = new HttpHost({ url: 'http://127.0.0.1/mcp' }, { fetch, clock });
    host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    void host.request('tools/call');
    expect(await host.request('tools/list')).toEqual({ kind: 'returned' });
    const lost = host.told('channel.lost');
    clock.increment(1000);
    expect(await lost).toMatchObject({ loss: { kind: 'unreachable' } });
  });

  test('is not told any more by a channel that was ended meanwhile', async () => {
    const body = new Poured();
    const { host } = fetchingHost(({ message }) => {
      if (message?.method === 'tools/list') return brokenWith('ECONNREFUSED');
      return message?.method === 'prompts/list' ? body.answer() : undefined;
    });
    void host.request('prompts/list');
    void host.tell('notifications/roots/list_changed');
    await flush();
    expect(await host.request('tools/list')).toEqual({ kind: 'returned' });
    host.channel.stop();
    await body.letGo;
    await flush();
    expect(typesOf(host)).toEqual(['channel.opened']);
  });

  test('takes no notifications, those that wait for their turn included', async () => {
    const { host, asked } = fetchingHost(({ message }) => {
      if (message?.method === 'ping') return brokenWith('ECONNREFUSED');
      return undefined;
    });
    const told = Array.from({ length: 66 }, () => host.tell('notifications/roots/list_changed'));
    void host.request('ping');
    expect(await Promise.all(told.slice(64))).toEqual(['rejected', 'rejected']);
    expect(asked).toHaveLength(65);
    // Its end would wait for the others.
    host.channel.stop();
  });

  test('before the handshake fails it', async () => {
    const server = await scriptedServer(() => {});
    await server.stop();
    const host = new HttpHost({ url: server.url.href });
    const error = errorOf(await host.ask('server/discover'));
    expect(error.code).toBe('CLOSED');
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unreachable', error } });
  });

  test('for want of a certificate is not one that may have served the request', async () => {
    const server = await scriptedServer(() => {});
    const host = new HttpHost({ url: server.url.href.replace('http:', 'https:') });
    void host.ask('server/discover');
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unreachable' } });
  });
});

describe('redirections', () => {
  const moved = (asked: Scripted, location: string, status = 307): unknown =>
    asked.response.writeHead(status, { location }).end();

  test.each([301, 302, 307, 308])(
    'on its own origin are followed with the message (%i)',
    async (status) => {
      const { outcome, server } = await answered((asked) =>
        asked.path === '/mcp' ? moved(asked, '/mcp/', status) : asked.result({ at: asked.path }),
      );
      expect(outcome).toEqual({ kind: 'result', result: { at: '/mcp/' } });
      expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'POST']);
    },
  );

  test('to another origin are not: nothing is sent there', async () => {
    const other = await scriptedServer((asked) => asked.result());
    const { outcome } = await answered((asked) => moved(asked, `${other.url.href}?q=s3cret`));
    expect(errorOf(outcome)).toMatchObject({ code: 'HTTP_STATUS', status: 307 });
    expect(errorOf(outcome).message).toContain(`redirects to "${other.url.href}"`);
    expect(errorOf(outcome).message).toContain('redirects to another origin are not followed');
    expect(other.asked).toEqual([]);
  });

  test.each(['/mcp', '', 'http://['])('in a circle, or to nowhere, end (%j)', async (location) => {
    const { outcome, server } = await answered((asked) => moved(asked, location));
    expect(errorOf(outcome).code).toBe('HTTP_STATUS');
    expect(server.asked).toHaveLength(location === 'http://[' ? 1 : 6);
    if (location === '/mcp') expect(errorOf(outcome).message).toMatch(/too many redirects$/);
  });

  test('in a handshake are a loss, with their status', async () => {
    const { fetch } = scriptedFetch(
      () => new Response(null, { status: 307, headers: { location: 'http://b/' } }),
    );
    const host = new HttpHost(anywhere, { fetch });
    const { message } = errorOf(await host.ask('server/discover'));
    const { loss } = await host.told('channel.lost');
    expect(loss).toEqual({ kind: 'http', status: 307, message });
  });

  test('leave nothing unread', async () => {
    const body = new Poured();
    let nth = 0;
    const { host } = fetchingHost((asked) =>
      ++nth === 1 ? body.answer('text/plain', 307, { location: '/mcp/' }) : resultOf(asked),
    );
    expect(await host.request('ping')).toMatchObject({ kind: 'result' });
    await body.letGo;
  });

  test('that would drop the message are not followed', async () => {
    const { outcome, server } = await answered((asked) => {
      asked.response.writeHead(303, { location: '/elsewhere' }).end();
    });
    expect(errorOf(outcome)).toMatchObject({ code: 'HTTP_STATUS', status: 303 });
    expect(server.asked).toHaveLength(1);
  });
});

/** Writes the same for as long as somebody reads. */
function endless(type: string, piece: string): (asked: Scripted) => void {
  return ({ response }) => {
    response.writeHead(200, { 'content-type': type });
    const write = (): void => {
      while (!response.destroyed && response.write(piece.repeat(100)));
    };
    response.on('drain', write);
    write();
  };
}

function rawAnswer(body: string, type: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}

/** A server that cuts its answer where the request says. */
async function cuttingServer(text: string): Promise<string> {
  const server = createServer((socket) => {
    let got = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      got += String(chunk);
      const [, at] = /"at":(\d+)\}\}$/.exec(got) ?? [];
      if (at !== undefined) socket.end(text.slice(0, Number(at)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

test.each<[what: string, thrown: unknown, kind: string, message: string]>([
  [
    'has no connection',
    new TypeError('fetch failed', {
      cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    }),
    'unreachable',
    'https://a.example/mcp is unreachable: refused',
  ],
  [
    'loses its connection',
    new TypeError('fetch failed', {
      cause: Object.assign(new Error(''), { code: 'ECONNRESET' }),
    }),
    'broken',
    'ECONNRESET',
  ],
  ['fails without a code', new TypeError('Load failed'), 'broken', 'Load failed'],
  ['fails with a text', 'no network', 'broken', 'no network'],
  ['fails with nothing', null, 'broken', 'null'],
])('a fetch that %s is told for what it is', (_, thrown, kind, message) => {
  const failure = networkFailure('tools/call', new URL('https://a.example/mcp'), thrown);
  const plain = networkFailure('tools/call', new URL('http://a.example/mcp'), thrown);
  expect(plain.error.message).toMatch(/a\.example:80|http:\/\/a\.example\/mcp/);
  expect([failure.kind, failure.error.code]).toEqual([kind, 'CLOSED']);
  expect(failure.error.message).toContain(message);
  expect(failure.error.cause).toBe((thrown instanceof Error ? thrown.cause : undefined) ?? thrown);
});

test('the error of a status has the error of the server’s own in it, if there is one', () => {
  const where = { status: 500, url: new URL('https://a.example/mcp?k=s3cret') };
  const remote = { code: -32000, message: 'Away' };
  expect(statusError('It', where, '', remote)).toMatchObject({ status: 500, remote });
  const plain = statusError('It', where, ' so\n so ');
  expect(plain.message).toBe('It: https://a.example/mcp answered with status 500: so so');
  expect(Object.hasOwn(plain, 'remote') && plain.remote !== undefined).toBe(false);
});
