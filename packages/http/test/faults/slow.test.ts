/** Unfinished requests and half-closed connections. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../../src/index.ts';
import { nodeHandler } from '../../src/node/index.ts';
import { serveHttp } from '../../../serve/src/index.ts';
import { enveloped, gate, flush } from '../../../testing/src/index.ts';
import { headersOf } from '../modern/modern-client.ts';
import { begin } from '../raw-client.ts';
import type { Message, RawSession } from '../raw-client.ts';
import { serveTools } from '../serving.ts';
import { posted, sendBytes, socketTo, statusesOf, wire } from './wire.ts';

const server = createMcpServer({ name: 'patient', version: '1' });

/** The same timeouts on our server and on a foreign one. */
const hosts: readonly (readonly [host: string, serve: () => Promise<URL>])[] = [
  [
    'the server of serve',
    async () => {
      const connections = { headersTimeoutMs: 50, requestTimeoutMs: 100 };
      const served = await serveHttp(server, { port: 0, connections });
      onTestFinished(() => served.close());
      return served.url;
    },
  ],
  [
    "somebody else's server, by its own times",
    async () => {
      const handler = nodeHandler(server);
      const times = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 20 };
      const http = createServer(times, handler);
      http.listen(0, '127.0.0.1');
      await once(http, 'listening');
      onTestFinished(async () => {
        http.close();
        http.closeAllConnections();
        await handler.close();
      });
      return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
    },
  ],
];

const json = 'Content-Type: application/json';

const unfinished: readonly (readonly [what: string, bytes: (host: string) => string])[] = [
  ['a header', (host) => `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nX-A`],
  ['all headers', (host) => `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n`],
  ['a body', (host) => wire({ headers: [`Host: ${host}`, json, 'Content-Length: 9'], body: '{' })],
  [
    'a chunk',
    (host) =>
      wire({ headers: [`Host: ${host}`, json, 'Transfer-Encoding: chunked'], body: '9\r\n{' }),
  ],
];

describe.each(hosts)('an incomplete request at %s', (_, serve) => {
  test.each(unfinished)(
    'is rejected with 408 and its connection closed in the middle of %s [HTTP-18]',
    async (_what, bytes) => {
      const url = await serve();
      expect(statusesOf(await sendBytes(url, bytes(url.host)))).toEqual([408]);
    },
  );

  test('is cut off even if bytes keep arriving [HTTP-18]', async () => {
    const url = await serve();
    const socket = socketTo(url);
    let open = true;
    socket.once('close', () => {
      open = false;
    });
    // Further bytes could reset the connection before the answer is read.
    socket.once('data', () => socket.end());
    socket.write(wire({ headers: [`Host: ${url.host}`, json, 'Transfer-Encoding: chunked'] }));
    while (open) {
      if (socket.writable) socket.write('1\r\n \r\n');
      await flush();
    }
    expect(socket.bytesWritten).toBeGreaterThan(100);
  });
});

const called = (id: number, name: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
});

/** Requests of each era on one connection. */
const eras: readonly (readonly [
  era: string,
  callsOf: (url: URL) => Promise<(id: number, name: string) => string>,
])[] = [
  [
    'in a session',
    async (url) => {
      const session: RawSession = await begin(url);
      return (id, name) => posted(url, called(id, name), session.headers);
    },
  ],
  [
    'without a session',
    (url) =>
      Promise.resolve((id, name) => {
        const message = enveloped(id, 'tools/call', { name, arguments: {} }) as Message;
        return posted(url, message, headersOf(message));
      }),
  ],
];

/** A server whose tools wait for a gate. */
async function serveHeld() {
  const gates = { first: gate(), second: gate() };
  const signals: AbortSignal[] = [];
  const tools = (['first', 'second'] as const).map((name) =>
    defineTool({
      name,
      description: 'Waits',
      handler: async (_, { signal }) => {
        signals.push(signal);
        await gates[name].pass();
        return `${name} done`;
      },
    }),
  );
  return { ...(await serveTools(tools)), ...gates, signals };
}

describe.each(eras)('a connection %s', (era, callsOf) => {
  test('answers pipelined requests in order, whichever finishes first [HTTP-18]', async () => {
    const { url, first, second } = await serveHeld();
    const bytes = await callsOf(url);
    const socket = socketTo(url);
    socket.write(bytes(1, 'first') + bytes(2, 'second'));
    await Promise.all([first.arrived(), second.arrived()]);
    second.release();
    await flush();
    first.release();
    let got = '';
    while (!got.includes('second done')) got += String((await once(socket, 'data'))[0]);
    expect(got.indexOf('first done')).toBeGreaterThan(0);
    expect(got.indexOf('first done')).toBeLessThan(got.indexOf('second done'));
  });

  test('counts as closed once the client has closed its half [HTTP-18]', async () => {
    const { url, first, signals, told } = await serveHeld();
    const bytes = await callsOf(url);
    const socket = socketTo(url);
    socket.resume();
    socket.end(bytes(1, 'first'));
    await first.arrived();
    await once(socket, 'close');
    if (era === 'in a session') {
      // Nothing was cancelled, but the answer cannot be delivered.
      await told('answer.lost');
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    } else {
      while (signals[0]?.aborted === false) await flush();
      expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    }
    first.release();
  });

  test('notifies all its requests when it closes, queued ones included [HTTP-18]', async () => {
    const { url, first, second, signals, facts } = await serveHeld();
    const bytes = await callsOf(url);
    const socket = socketTo(url);
    socket.write(bytes(1, 'first') + bytes(2, 'second'));
    await Promise.all([first.arrived(), second.arrived()]);
    socket.destroy();
    if (era === 'in a session') {
      const lost = () => facts.filter(({ name }) => name === 'answer.lost');
      await expect.poll(lost).toHaveLength(2);
    } else {
      await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    }
    for (const held of [first, second]) held.release();
  });

  test('gets its own answers while another connection sends the same requests [HTTP-18]', async () => {
    const { url, first } = await serveHeld();
    const bytes = (await callsOf(url))(1, 'first');
    const sockets = [socketTo(url), socketTo(url)];
    const answers = sockets.map(async (socket) => {
      let got = '';
      while (!got.includes('jsonrpc')) got += String((await once(socket, 'data'))[0]);
      return got;
    });
    for (const socket of sockets) socket.write(bytes);
    await first.arrived();
    // In a session a duplicate id is rejected while the first runs; without one, both are served.
    if (era === 'in a session') expect(await Promise.race(answers)).toContain('-32600');
    first.release();
    const done = (await Promise.all(answers)).filter((answer) => answer.includes('first done'));
    expect(done).toHaveLength(era === 'in a session' ? 1 : 2);
  });
});
