/** Limits of unfinished bodies in bytes and time. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { enveloped, flush } from '../../testing/src/index.ts';
import { CountingClock } from '../../../test/actors/counting-clock.ts';
import type { BodyRefusal, ReceivedBody } from '../src/bodies.ts';
import { WebExchange } from '../src/web-exchange.ts';
import type { Body } from '../src/http-exchange.ts';
import { exchangeContext } from './exchange-context.ts';
import { headersOf } from './modern/modern-client.ts';
import { post } from './raw-client.ts';
import type { Message } from './raw-client.ts';
import { serveTools } from './serving.ts';

function reading(maxUnfinishedBytes: number, maxBodyBytes = 100) {
  const home = exchangeContext({ maxUnfinishedBytes, maxBodyBytes, bodyTimeoutMs: 1000 });
  const refused = new Map<string, BodyRefusal>();
  const begin = (name: string, party = 'one'): ReceivedBody =>
    home.bodies.open(party, (refusal) => refused.set(name, refusal));
  const send = (body: ReceivedBody, bytes: number) => body.append(new Uint8Array(bytes), false);
  return { ...home, refused, begin, send };
}

describe('unfinished bodies', () => {
  test("rejects the body that exceeds a client's limit", () => {
    const { begin, send, refused } = reading(10);
    const [first, second, third] = [begin('first'), begin('second'), begin('third')];
    send(first, 5);
    send(second, 5);
    expect(refused.size).toBe(0);
    send(third, 1);
    expect([...refused]).toEqual([
      ['third', expect.objectContaining({ status: 503, headers: { 'retry-after': '1' } })],
    ]);
    expect(refused.get('third')?.message).toContain('This client has 11 bytes');
    // Later bytes of a rejected body are dropped and not counted.
    send(third, 5);
    expect(third.finish()).toHaveLength(0);
    // A finished body frees its bytes.
    expect(first.finish()).toHaveLength(5);
    const fourth = begin('fourth');
    send(fourth, 5);
    expect(refused.size).toBe(1);
    send(fourth, 1);
    expect([...refused.keys()]).toEqual(['third', 'fourth']);
  });

  test('allows a single long body per client', () => {
    const { begin, send, refused } = reading(10);
    const only = begin('only');
    send(only, 60);
    send(only, 40);
    expect(refused.size).toBe(0);
    send(only, 1);
    expect(refused.get('only')?.status).toBe(413);
  });

  test('evicts the largest body of the heaviest client at four times the limit', () => {
    const { begin, send, refused } = reading(10, 20);
    const parties = ['a', 'b', 'c', 'd'];
    for (const party of parties) send(begin(party, party), 9);
    send(begin('small', 'e'), 3);
    expect(refused.size).toBe(0);
    const [greedy, more] = [begin('greedy', 'd'), begin('more', 'f')];
    send(greedy, 1);
    expect(refused.size).toBe(0);
    send(more, 2);
    expect([...refused]).toEqual([['d', expect.objectContaining({ status: 503 })]]);
    send(more, 2);
    expect(refused.size).toBe(1);
  });

  test('does not evict a complete body', () => {
    const { begin, send, refused } = reading(10, 20);
    const ended = begin('ended', 'd');
    send(ended, 9);
    ended.finish();
    for (const party of ['a', 'b', 'c']) send(begin(party, party), 9);
    for (const name of ['long', 'longer']) send(begin(name, 'd'), name.length);
    send(begin('small', 'e'), 3);
    expect(refused.size).toBe(0);
    send(begin('more', 'f'), 1);
    expect([...refused.keys()]).toEqual(['longer']);
  });

  test('does not count a body that arrives in one chunk', () => {
    const { begin, refused } = reading(10);
    for (let at = 0; at < 100; at++) begin(`${at}`).append(new Uint8Array(10), true);
    expect(refused.size).toBe(0);
  });

  test('rejects a body after bodyTimeoutMs, and not before', () => {
    const { begin, send, clock, refused, maintenance } = reading(10);
    clock.increment(500);
    const [slow, done] = [begin('slow'), begin('done')];
    send(slow, 1);
    clock.increment(990);
    done.finish();
    expect(refused.size).toBe(0);
    clock.increment(10);
    const message = 'The body was incomplete after 1000 ms';
    const headers = { connection: 'close' };
    const late = expect.objectContaining({ status: 408, message, headers }) as BodyRefusal;
    expect([...refused]).toEqual([['slow', late]]);
    expect(maintenance.size).toBe(0);
  });

  test("uses at most twice a body's length, however small its chunks are", () => {
    const { begin } = reading(1000);
    const body = begin('crumbs');
    for (let at = 0; at < 100; at++) body.append(Uint8Array.of(at), false);
    const bytes = body.finish();
    expect([...bytes]).toEqual(Array.from({ length: 100 }, (_, at) => at));
    expect(bytes.buffer.byteLength).toBeLessThanOrEqual(200);
  });
});

/** Posts an unfinished body. */
async function unfinished(url: URL, bytes: number): Promise<Socket> {
  const socket = connect(Number(url.port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${bytes + 1}\r\n\r\n`;
  socket.write(head);
  await new Promise((resolve) => socket.write(' '.repeat(bytes), resolve));
  return socket;
}

async function statusOf(socket: Socket): Promise<string> {
  let got = '';
  while (!got.includes('\r\n\r\n')) got += String((await once(socket, 'data'))[0]);
  return `${got.split(' ')[1]} ${/retry-after: (\d+)/i.exec(got)?.[1] ?? ''}`.trim();
}

const ping = enveloped(1, 'server/discover', {}) as Message;

test("rejects a client's many endless bodies while serving its complete ones [HTTP-18]", async () => {
  const limits = { maxUnfinishedBytes: 1024 ** 2 };
  const { url } = await serveTools([], { limits });
  const sockets: Socket[] = [];
  const statuses: string[] = [];
  for (let at = 0; at < 8; at++) {
    const socket = await unfinished(url, 256 * 1024);
    sockets.push(socket);
    void statusOf(socket).then((status) => statuses.push(status));
  }
  await expect.poll(() => statuses).toEqual(Array.from({ length: 4 }, () => '503 1'));
  expect((await post(url, ping, headersOf(ping))).status).toBe(200);
  // Accepted bodies can still be finished.
  for (const socket of sockets) socket.write(' ');
  await expect.poll(() => statuses.slice(4)).toEqual(Array.from({ length: 4 }, () => '400'));
});

test('rejects a body that is incomplete after bodyTimeoutMs with 408 [HTTP-18]', async () => {
  const clock = new CountingClock();
  const { url } = await serveTools([], { clock, limits: { bodyTimeoutMs: 5000 } });
  const before = clock.timers;
  const socket = await unfinished(url, 200_000);
  const status = statusOf(socket);
  // The timeout starts once the head was read.
  while (clock.timers === before) await flush();
  clock.increment(5000);
  expect(await status).toBe('408');
  await once(socket, 'close');
});

test('releases the bytes of a client that disconnects within its body [HTTP-18]', async () => {
  const { url } = await serveTools([], { limits: { maxUnfinishedBytes: 300_000 } });
  const gone = await Promise.all([unfinished(url, 140_000), unfinished(url, 140_000)]);
  for (const socket of gone) {
    socket.destroy();
    await once(socket, 'close');
  }
  const message = { ...ping, padding: ' '.repeat(280_000) };
  await expect.poll(async () => (await post(url, message, headersOf(ping))).status).toBe(200);
});

test('limits the body of a web Request in the same way', async () => {
  const home = exchangeContext({ maxUnfinishedBytes: 100, bodyTimeoutMs: 1000 });
  const exchangeOf = (body: ReadableStream, remoteAddress: string) => {
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
    return new WebExchange(new Request('http://localhost/mcp', init), home, { remoteAddress });
  };
  const body = (bytes: number, address: string) => {
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(bytes)),
    });
    const exchange = exchangeOf(stream, address);
    return new Promise<Body>((resolve) => exchange.readBody(resolve));
  };
  // A broken body frees its bytes.
  const breaking = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(80)),
    pull: (controller) => controller.error(new Error('It broke')),
  });
  const broken = exchangeOf(breaking, '192.0.2.1');
  await new Promise<void>((resolve) => {
    broken.onDisconnected(resolve);
    broken.readBody(() => {});
  });
  const first = body(80, '192.0.2.1');
  await flush();
  expect(await body(80, '192.0.2.1')).toMatchObject({ status: 503 });
  const other = body(80, '192.0.2.2');
  await flush();
  home.clock.increment(1000);
  expect([await first, await other]).toMatchObject([{ status: 408 }, { status: 408 }]);
});
