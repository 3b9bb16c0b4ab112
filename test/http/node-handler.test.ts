/** What the endpoint sees of node's requests, and what becomes of their connections. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { gate } from '../../src/testing/index.ts';
import { NodeExchange } from '../../src/http/node/node-handler.ts';
import { NodeOutlet } from '../../src/http/node/node-outlet.ts';
import { Retransmissions } from '../../src/http/node/retransmissions.ts';
import { exchangeHome } from './exchange-home.ts';

const retransmissions = new Retransmissions(10_000);

/** Serves exchanges until the test is over. */
async function serveExchanges(
  handle: (exchange: NodeExchange) => void,
  prepare: (request: IncomingMessage) => unknown = () => {},
  home = exchangeHome(),
): Promise<number> {
  const http = createServer((request: IncomingMessage, response: ServerResponse) => {
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

/** Sends bytes over one connection, and gives all that comes back until it is closed. */
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

const atMost = (maxBodyBytes: number) => exchangeHome({ maxBodyBytes });

const last = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

test('an answer before the body is read keeps the connection if little of it is left', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 403, body: 'no' }));
  const refused = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';
  const answers = await raw(port, refused, last);
  expect(answers.match(/HTTP\/1.1 403/g)).toHaveLength(2);
});

test('what is left of a body is never read as a request', async () => {
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

test('a client that still sends reads why it was refused', async () => {
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

test('a body that never ends is refused, and its connection closed', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(10));
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const answer = await raw(port, head, '20\r\n', 'a'.repeat(32), '\r\n');
  expect(answer).toContain('413');
  expect(answer.toLowerCase()).toContain('connection: close');
});

test('a client that goes on with a refused body is cut off after 16 MiB, before its time is over', async () => {
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

test('a body that is not UTF-8 is refused', async () => {
  const port = await serveExchanges(answerBody, undefined, atMost(1000));
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: new Uint8Array([0x22, 0xff, 0x22]),
  });
  expect([response.status, await response.text()]).toEqual([400, 'The body is not UTF-8']);
});

test.each([
  ['an object', { a: 1 }, '{"a":1}'],
  ['a text', 'text', 'text'],
  ['bytes', Buffer.from('bytes'), 'bytes'],
])('a body that a framework has made %s of is taken', async (_, body, taken) => {
  const port = await serveExchanges(answerBody, async (request) => {
    await text(request);
    Object.assign(request, { body });
  });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  expect(await response.text()).toBe(taken);
});

test('a body that something has read and not kept is said to be, at once', async () => {
  const port = await serveExchanges(answerBody, (request) => text(request));
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  expect([response.status, await response.text()]).toEqual([
    500,
    'The body was read before, and is not in request.body',
  ]);
});

test('the target is the whole one, wherever a framework has mounted the handler', async () => {
  const port = await serveExchanges(
    (exchange) => exchange.answer({ status: 200, body: exchange.target }),
    (request) => Object.assign(request, { originalUrl: `/mounted${request.url}` }),
  );
  const response = await fetch(`http://127.0.0.1:${port}/mcp?a=b`);
  expect(await response.text()).toBe('/mounted/mcp?a=b');
});

test('headers have the names that were sent, and no others', async () => {
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

test('a HEAD has the headers of its answer, and no body', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 404, body: 'no' }));
  const head = last.replace('GET', 'HEAD');
  const answer = await raw(port, head);
  expect(answer).toMatch(/content-length: 2/i);
  expect(answer.endsWith('\r\n\r\n')).toBe(true);
});

test('an answer that has no body has no length either', async () => {
  const port = await serveExchanges((exchange) => exchange.answer({ status: 204 }));
  expect(await raw(port, last)).not.toMatch(/content-length/i);
});

test('of what a client has not taken nothing waits any more once it has left', async () => {
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
  expect((await left).untakenBytes).toBe(0);
});

test('who leaves is heard of once for each request on the connection, whosever turn it is', async () => {
  const left: string[] = [];
  const [asked, gone] = [gate(), gate()];
  const port = await serveExchanges((exchange) => {
    exchange.onGone(() => {
      left.push(exchange.target);
      void gone.pass();
    });
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
  socket.destroy();
  await gone.arrived(3);
  for (const held of [asked, gone]) held.release();
  expect(left.sort()).toEqual(['/1', '/2', '/3']);
});

test('who has gone before anybody asked is known to have gone', async () => {
  let asked: (gone: string) => void = () => {};
  const heard = new Promise<string>((resolve) => {
    asked = resolve;
  });
  const http = createServer((request, response) => {
    const exchange = new NodeExchange(request, response, exchangeHome(), retransmissions);
    response.once('close', () => exchange.onGone(() => asked('gone')));
    request.socket.destroy();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => void http.close());
  const { port } = http.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  expect(await heard).toBe('gone');
});
