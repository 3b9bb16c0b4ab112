/** Clients that open and abandon streams for hours. */
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Socket, connect } from 'node:net';
import { once } from 'node:events';
import { queryObjects } from 'node:v8';
import { createMcpServer } from 'mcp-actors';
import { expect, onTestFinished, test } from 'vitest';
import { echo } from '../../../../examples/lab/tools.ts';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { nodeHandler } from '../../src/node/index.ts';
import { NodeExchange } from '../../src/node/node-handler.ts';
import { SessionStream } from '../../src/legacy/session-stream.ts';
import { StatelessAnswer } from '../../src/answers.ts';
import { enveloped } from '../../../testing/src/index.ts';
import { headersOf } from '../modern/modern-client.ts';
import { begin } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { inLongRun } from '../../../../test/tooling/long-run.ts';
import { posted } from './wire.ts';

/** Number of abandoned streams. */
const many = inLongRun(10_000, 1000);

/** Objects of a stream on either side. */
const parts = {
  NodeExchange,
  SessionStream,
  StatelessAnswer,
  IncomingMessage,
  ServerResponse,
  Socket,
};

/** Counts live objects of each kind after garbage collection. */
async function held(): Promise<{ readonly [name: string]: number }> {
  // Ended objects are released within a few event loop turns.
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  const counts = Object.entries(parts).map(([name, part]) => [
    name,
    queryObjects(part as typeof Socket, { format: 'count' }),
  ]);
  return Object.fromEntries(counts) as { [name: string]: number };
}

/** The real clock with a count of its timers. */
function countedClock(): Clock & { readonly timers: ReadonlySet<unknown> } {
  const timers = new Set<unknown>();
  return {
    timers,
    now: () => systemClock.now(),
    setTimeout: (callback, delayMs) => {
      const timer = systemClock.setTimeout(() => {
        timers.delete(timer);
        callback();
      }, delayMs);
      timers.add(timer);
      return timer;
    },
    clearTimeout: (timer) => {
      timers.delete(timer);
      systemClock.clearTimeout(timer);
    },
  };
}

test('leaves no objects, memory or timers behind for abandoned streams [HTTP-18]', async () => {
  const clock = countedClock();
  const quiet = { report: () => {} };
  const server = createMcpServer({ name: 'left', version: '1', tools: [echo] });
  const handler = nodeHandler(server, { clock, session: quiet, ...quiet });
  const http = createServer(handler);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const session = await begin(url);
  const head = Object.entries({
    host: 'localhost',
    accept: 'text/event-stream',
    ...session.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const get = `GET /mcp HTTP/1.1\r\n${head.join('')}\r\n`;
  const filter = { notifications: { toolsListChanged: true } };
  const listening = enveloped(1, 'subscriptions/listen', filter) as Message;
  const listen = posted(url, listening, headersOf(listening));

  const left = async (bytes: string) => {
    const socket = connect(Number(url.port), '127.0.0.1');
    socket.write(bytes);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(String(first)).toContain('200 OK');
    socket.destroy();
    await once(socket, 'close');
  };
  const round = async (count: number) => {
    let n = 0;
    const one = async () => {
      while (n < count) await left(n++ % 2 === 0 ? get : listen);
    };
    await Promise.all(Array.from({ length: 32 }, one));
    // The server has noticed all disconnects.
    const open = () => handler.sessions.flatMap((each) => each.dump().http?.streams ?? []);
    while (open().length > 0) await new Promise((resolve) => setImmediate(resolve));
  };
  await round(100);
  const [before, timers] = [await held(), clock.timers.size];
  const heapBytes = process.memoryUsage().heapUsed;
  await round(many);
  // Fewer if the client's own connections closed meanwhile.
  for (const [name, count] of Object.entries(await held())) {
    expect(count, name).toBeLessThanOrEqual(before[name] ?? 0);
  }
  // Total heap. Compiled code takes about 800 KB, however many streams there are.
  expect(process.memoryUsage().heapUsed - heapBytes).toBeLessThan(2_500_000);
  expect(clock.timers.size).toBe(timers);
}, 1_200_000);
