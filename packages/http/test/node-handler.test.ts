/** Requests and connections of `node:http`. */
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import { Socket, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { gate, flush } from '../../testing/src/index.ts';
import { NodeExchange } from '../src/node/node-handler.ts';
import { NodeOutlet } from '../src/node/node-outlet.ts';
import { Retransmissions } from '../src/node/retransmissions.ts';
import { exchangeContext } from './exchange-context.ts';

const retransmissions = new Retransmissions(10_000);

/** Serves exchanges until the test ends. */
async function serveExchanges(
  handle: (exchange: NodeExchange) => void,
  prepare: (request: IncomingMessage) => unknown = () => {},
  home = exchangeContext(),
): Promise<number> {
  // Makes Node throw if HEAD gets a body.
  const options = { rejectNonStandardBodyWrites: true };
  const http = createServer(options, (request, response) => {
    void Promise.resolve(prepare(request)).then(() =>
      handle(new NodeExchange(request, response, home, retransmissions)),
    );
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

/** Sends bytes over one connection and returns everything received until it closes. */
async function raw(port: number, ...chunks: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const answer = text(socket);
  for (const chunk of chunks) socket.write(chunk);
  return answer;
}

const answerBody = (exchange: NodeExchange) =>
  exchange.readBody((body) =>
    body.ok
      ? exchange.answer({ status: 200, body: body.text })
      : exchange.answer({ ...body, body: body.message }),
  );

const atMost = (maxBodyBytes: number) => exchangeContext({ maxBodyBytes });

const last = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

test('keeps the connection after an early response if little of the body is left', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 403, body: 'no' }));
  const refused = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';
  const answers = await raw(port, refused, last);
  expect(answers.match(/HTTP\/1.1 403/g)).toHaveLength(2);
});

test('never reads the rest of a body as a request', async () => {
  const seen: string[] = [];
  const port = await serveExchanges((exchange) => {
    seen.push(exchange.target);
    exchange.answer({ status: 403 });
  });
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n';
  const head = `POST /seen HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n`;
  await raw(port, head + hidden, last);
  expect(seen).toEqual(['/seen', '/']);
});

test('lets a client that is still sending read its rejection', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(1000));
  for (const method of ['POST', 'PUT']) {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method,
      body: 'a'.repeat(4 * 1024 ** 2),
    });
    expect(response.status).toBe(413);
    expect(await response.text()).toBe('The body is longer than 1000 bytes');
  }
});

test('rejects an endless body and closes its connection', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(10));
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const answer = await raw(port, head, '20\r\n', 'a'.repeat(32), '\r\n');
  expect(answer).toContain('413');
  expect(answer.toLowerCase()).toContain('connection: close');
});

test('cuts off a client that sends 16 MiB more of a rejected body', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const port = await serveExchanges(answerBody, undefined, atMost(10));
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const mebibyte = `100000\r\n${'a'.repeat(1024 ** 2)}\r\n`;
  for (let sent = 0; sent < 17; sent++) socket.write(mebibyte);
  await once(socket, 'close');
});

test('rejects a body that is not UTF-8', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(1000));
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: new Uint8Array([0x22, 0xff, 0x22]),
  });
  expect([response.status, await response.text()]).toEqual([400, 'The body is not UTF-8']);
});

test.each([
  ['an object', { a: 1 }, '{"a":1}'],
  ['a string', 'text', 'text'],
  ['bytes', Buffer.from('bytes'), 'bytes'],
  ['a Uint8Array', new TextEncoder().encode('bytes'), 'bytes'],
])('accepts a body that a framework parsed into %s', async (_, body, taken) => {
  const port = await serveExchanges(answerBody, async (request) => {
    await text(request);
    Object.assign(request, { body });
  });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  expect(await response.text()).toBe(taken);
});

test('accepts a body that contains U+FFFD', async () => {
  const port = await serveExchanges(answerBody);
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '"\ufffd"' });
  expect(await response.text()).toBe('"\ufffd"');
});

test('accepts a body of maxBodyBytes and rejects one byte more before it arrives', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(5));
  const head = (length: number) =>
    `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;
  expect(await raw(port, `${head(5)}hello`)).toMatch(/200 OK[^]*hello$/);
  expect(await raw(port, head(6))).toContain('413');
});

test('releases the memory of an unfinished body when its client disconnects', async () => {
  const home = exchangeContext();
  const [began, gone] = [gate(), gate()];
  let request: IncomingMessage | undefined;
  const port = await serveExchanges(
    (exchange) => {
      answerBody(exchange);
      request?.once('data', () => void began.pass());
      request?.once('close', () => void gone.pass());
    },
    (came) => {
      request = came;
    },
    home,
  );
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello');
  await began.arrived(1);
  await flush();
  expect(home.maintenance.size).toBe(1);
  socket.destroy();
  await gone.arrived(1);
  await flush();
  expect(home.maintenance.size).toBe(0);
  for (const held of [began, gone]) held.release();
});

test('lets a client send the rest of its body after an early response', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const wasComplete: boolean[] = [];
  const answers = [{ status: 403, body: 'no' }, { status: 403 }];
  const port = await serveExchanges(
    (exchange) => exchange.answer(answers.shift() ?? { status: 500 }),
    (request) => request.once('close', () => wasComplete.push(request.complete)),
  );
  const length = 2 ** 20;
  while (answers.length > 0) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toContain('403');
    expect(String(answer).toLowerCase()).toContain('connection: close');
    socket.resume();
    socket.write('a'.repeat(length));
    await once(socket, 'end');
  }
  expect(wasComplete).toEqual([true, true]);
});

test('keeps the connection after a chunked body, and closes it after a timeout', async () => {
  const statuses = [200, 408];
  const port = await serveExchanges((exchange) =>
    exchange.readBody(() => exchange.answer({ status: statuses.shift() ?? 500, body: 'said' })),
  );
  const chunked =
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  const answers = await raw(port, chunked + chunked);
  expect(answers.match(/HTTP\/1.1 \d+|connection: [a-z-]+/gi)).toEqual([
    'HTTP/1.1 200',
    'Connection: keep-alive',
    'HTTP/1.1 408',
    'connection: close',
  ]);
});

test('answers a request once', async () => {
  const port = await serveExchanges((exchange) => {
    exchange.answer({ status: 200, body: 'first' });
    exchange.answer({ status: 500, body: 'second' });
  });
  expect(await raw(port, last)).toMatch(/200 OK[^]*first$/);
});

test.each([64 * 1024, 64 * 1024 + 1, 200_000])(
  'sends a complete answer of %i bytes',
  async (length) => {
    const body = Array.from({ length }, (_, at) => at % 10).join('');
    const port = await serveExchanges((exchange) => {
      if (exchange.target === '/whole') return exchange.answer({ status: 200, body });
      const sink = exchange.stream({ 'content-type': 'text/plain' });
      sink.write(body);
      sink.end();
    });
    for (const target of ['whole', 'streamed']) {
      const response = await fetch(`http://127.0.0.1:${port}/${target}`);
      expect((await response.text()) === body).toBe(true);
    }
  },
);

test('starts a stream before its first message, and ends it with the connection', async () => {
  let cut = () => {};
  const port = await serveExchanges((exchange) => {
    const sink = exchange.stream({ 'content-type': 'text/event-stream' });
    cut = () => sink.cut();
  });
  const response = await fetch(`http://127.0.0.1:${port}/`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  cut();
  await expect(response.text()).rejects.toThrow('terminated');
});

test('ends a stream without a last message', async () => {
  const port = await serveExchanges((exchange) => {
    const sink = exchange.stream({});
    sink.write('said');
    void flush().then(() => sink.end());
  });
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('said');
});

test('ticks queued pipelined answers and counts their bytes as unread', async () => {
  const home = exchangeContext();
  const asked = gate();
  const exchanges: NodeExchange[] = [];
  const port = await serveExchanges(
    (exchange) => {
      exchanges.push(exchange);
      void asked.pass();
    },
    undefined,
    home,
  );
  const answers = raw(port, last.replace('Connection: close\r\n', ''), last);
  await asked.arrived(2);
  asked.release();
  const [first, second] = exchanges;
  first?.onDisconnected(() => exchanges.pop())();
  second?.answer({ status: 200, body: 'second' });
  expect(home.maintenance.size).toBe(1);
  first?.answer({ status: 200, body: 'first' });
  expect((await answers).match(/first|second/g)).toEqual(['first', 'second']);
  home.clock.increment(10);
  expect([home.maintenance.size, exchanges.length]).toEqual([0, 2]);
  for (const exchange of exchanges) expect(exchange.isDisconnected).toBe(false);
});

test('writes nothing more to a full connection', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const outlet = new NodeOutlet(response, retransmissions);
  let said = 0;
  for (let at = 0; at < 20; at++) {
    said += outlet.write('a'.repeat(20_000));
    await flush();
  }
  expect(outlet.unsentBytes).toBeGreaterThanOrEqual(said);
  expect(response.writableLength).toBeLessThan(200_000);
  expect(response.listenerCount('drain')).toBe(1);
});

test('rejects a body at once that was consumed but not stored', async () => {
  const port = await serveExchanges(answerBody, (request) => text(request));
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  expect([response.status, await response.text()]).toEqual([
    500,
    'The body was already read and is not in request.body',
  ]);
});

test('uses the full target, wherever a framework mounts the handler', async () => {
  const port = await serveExchanges(
    (exchange) => exchange.answer({ status: 200, body: exchange.target }),
    (request) => Object.assign(request, { originalUrl: `/mounted${request.url}` }),
  );
  const response = await fetch(`http://127.0.0.1:${port}/mcp?a=b`);
  expect(await response.text()).toBe('/mounted/mcp?a=b');
});

/** The exchange for a request given as header lines. */
async function seen(...lines: readonly string[]) {
  let exchange: NodeExchange | undefined;
  const port = await serveExchanges((made) => {
    exchange = made;
    made.answer({ status: 204 });
  });
  await raw(port, [...lines, 'Connection: close', '', ''].join('\r\n'));
  return exchange as NodeExchange;
}

test.each([
  ['/mcp?a=b', 'in-header', '/mcp?a=b'],
  ['http://in-target/mcp?a=b', 'in-target', '/mcp?a=b'],
  ['HTTPS://in-target?a=b', 'in-target', '/?a=b'],
])('reads the target %s as one of the host %s', async (sent, host, target) => {
  expect(await seen(`DELETE ${sent} HTTP/1.1`, 'Host: in-header')).toMatchObject({
    method: 'DELETE',
    target,
    head: { host },
    remoteAddress: '127.0.0.1',
  });
});

test('reads all known headers and joins repeated ones', async () => {
  const names = {
    host: 'Host',
    origin: 'ORIGIN',
    accept: 'Accept',
    authorization: 'authorization',
    contentType: 'Content-Type',
    contentEncoding: 'Content-Encoding',
    sessionId: 'MCP-Session-Id',
    protocolVersion: 'mcp-protocol-version',
  };
  const headers = Object.values(names);
  const once = await seen('GET / HTTP/1.1', ...headers.map((name) => `${name}: of ${name}`));
  expect(once.head).toEqual(
    Object.fromEntries(Object.entries(names).map(([key, name]) => [key, `of ${name}`])),
  );
  // A host in the target does not excuse several Host headers.
  const twice = await seen(
    'GET http://in-target/ HTTP/1.1',
    ...headers.flatMap((name) => [`${name}: 1`, `${name}: 2`]),
    'Set-Cookie: 1',
    'Set-Cookie: 2',
  );
  expect(new Set(Object.values(twice.head))).toEqual(new Set(['1, 2']));
  for (const name of ['host', 'content-type', 'authorization', 'set-cookie']) {
    expect(twice.header(name)).toBe('1, 2');
  }
});

test('reads header names as sent, and no inherited ones', async () => {
  const port = await serveExchanges((exchange) => {
    const names = ['constructor', '__proto__', 'x-two', 'host'];
    const found = names.map((name) => exchange.header(name));
    exchange.answer({ status: 200, body: JSON.stringify(found) });
  });
  const answer = await raw(
    port,
    'GET / HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two: 2\r\nConnection: close\r\n\r\n',
  );
  expect(answer.split('\r\n\r\n')[1]).toBe('[null,null,"1, 2","a"]');
});

test('answers HEAD with headers and no body', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 404, body: 'no' }));
  const head = last.replace('GET', 'HEAD');
  const answer = await raw(port, head);
  expect(answer).toMatch(/content-length: 2/i);
  expect(answer.endsWith('\r\n\r\n')).toBe(true);
});

test('sends no content-length with a response that has no body', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 204 }));
  expect(await raw(port, last)).not.toMatch(/content-length/i);
});

test('releases unread output once the client has disconnected', async () => {
  let over: (outlet: NodeOutlet) => void = () => {};
  const left = new Promise<NodeOutlet>((resolve) => {
    over = resolve;
  });
  const http = createServer((_, response) => {
    const outlet = new NodeOutlet(response, retransmissions);
    response.once('close', () => over(outlet));
    outlet.write('a'.repeat(32 * 1024 ** 2));
    outlet.end();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  const socket = connect((http.address() as AddressInfo).port, '127.0.0.1');
  socket.write(last);
  await once(socket, 'readable');
  socket.destroy();
  expect((await left).unsentBytes).toBe(0);
});

test('reports a disconnect once per request, including pipelined ones', async () => {
  const left: string[] = [];
  const [asked, gone] = [gate(), gate()];
  const port = await serveExchanges((exchange) => {
    exchange.onDisconnected(() => {
      left.push(exchange.target);
      void gone.pass();
    });
    exchange.onDisconnected(() => left.push('asked no more'))();
    void asked.pass();
    if (exchange.target === '/answered') exchange.answer({ status: 200, body: 'first' });
    if (exchange.target === '/3') exchange.stream({ 'content-type': 'text/plain' });
  });
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  for (const path of ['answered', '1', '2', '3']) {
    socket.write(`GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
  await Promise.all([once(socket, 'data'), asked.arrived(4)]);
  expect(left).toEqual([]);
  socket.destroy();
  await gone.arrived(3);
  for (const held of [asked, gone]) held.release();
  expect(left.sort()).toEqual(['/1', '/2', '/3']);
});

test('reports a client that disconnected before anybody subscribed', async () => {
  let asked: (gone: string) => void = () => {};
  const heard = new Promise<string>((resolve) => {
    asked = resolve;
  });
  const http = createServer((request, response) => {
    const exchange = new NodeExchange(request, response, exchangeContext(), retransmissions);
    response.once('close', () => exchange.onDisconnected(() => asked('gone')));
    request.socket.destroy();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  const { port } = http.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  expect(await heard).toBe('gone');
});
