import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { defineTool } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { EventReader, begin, jsonOf } from '../raw-client.ts';
import type { RawSession } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

/** Sends a server-initiated notification of the requested length. */
const push = defineTool({
  name: 'push',
  description: 'Notifies without a request',
  inputSchema: { type: 'object', properties: { bytes: { type: 'number' } } },
  handler: ({ bytes = 0 }, { session }) => {
    session.notify('test/step', { text: 'x'.repeat(bytes) });
    return 'done';
  },
});

/** A session stream on its own socket that is read only up to its first event. */
async function unread(session: RawSession): Promise<Socket> {
  const socket = connect(Number(session.url.port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const headers = Object.entries({
    host: 'localhost',
    accept: 'text/event-stream',
    connection: 'close',
    ...session.headers,
  });
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`GET /mcp HTTP/1.1\r\n${head}\r\n`);
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** Advances the clock in steps, with event loop turns in between. */
async function pass(clock: SimulatedClock, session: RawSession, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1000) {
    clock.increment(1000);
    await (await session.request('ping')).text();
  }
}

describe('a client that does not read its stream', () => {
  test('is cut off at maxUnreadBytes and may resume, while others are served [HTTP-15]', async () => {
    const limits = { maxUnreadBytes: 64 * 1024, maxEventBytes: 2 ** 26 };
    const { url, facts, told } = await serveTools([push], { limits });
    const [slow, other] = [await begin(url), await begin(url)];
    const socket = await unread(slow);
    const stream = await other.get();
    for (let sent = 0; !facts.some(({ name }) => name === 'stream.cut'); sent++) {
      expect(sent).toBeLessThan(200);
      await (await slow.call('push', { bytes: 256 * 1024 })).text();
      await (await other.call('push')).text();
      await stream.message();
    }
    expect((await told('stream.cut')).message).toContain('the limit of 65536');
    socket.resume();
    await once(socket, 'close');
    const again = await slow.get('1-0');
    await expect(again.message()).resolves.toMatchObject({ id: '1-1' });
  });

  test('has its connection closed if it does not read the rest either [HTTP-15]', async () => {
    const clock = new SimulatedClock();
    const { url, told } = await serveTools([push], { clock, limits: { maxUnreadBytes: 2 ** 10 } });
    const session = await begin(url);
    const socket = await unread(session);
    for (const bytes of [2 ** 24, 2 ** 11]) await (await session.call('push', { bytes })).text();
    await told('stream.cut');
    await pass(clock, session, 32_000);
    // The client reads on, but the stream ends before everything arrived.
    let length = 0;
    socket.on('data', (chunk: Buffer) => (length += chunk.length));
    socket.resume();
    await once(socket, 'close');
    expect(length).toBeLessThan(2 ** 24);
  });

  test('is cut off after unreadTimeoutMs, however little is unread [HTTP-15]', async () => {
    const clock = new SimulatedClock();
    const { url, facts, told } = await serveTools([push], { clock });
    const session = await begin(url);
    await unread(session);
    // Bytes in the system's buffers count as read.
    await (await session.call('push', { bytes: 2 ** 24 })).text();
    await pass(clock, session, 29_000);
    expect(facts.filter(({ name }) => name === 'stream.cut')).toEqual([]);
    await pass(clock, session, 3000);
    expect((await told('stream.cut')).message).toContain('30000 ms');
  });

  test('receives later messages on another stream that it reads [HTTP-09]', async () => {
    const { url } = await serveTools([push]);
    const session = await begin(url);
    const reading = await session.get();
    await unread(session);
    await (await session.call('push', { bytes: 2 ** 24 })).text();
    await (await session.call('push')).text();
    await expect(reading.message()).resolves.toMatchObject({ id: '1-1' });
  });
});

describe('timeouts', () => {
  test('send keepalives on a silent stream, which detect a vanished client [HTTP-15]', async () => {
    const clock = new SimulatedClock();
    const { url } = await serveTools([push], { clock });
    const session = await begin(url);
    const stream = await session.get();
    await stream.next();
    await pass(clock, session, 15_000);
    await expect(stream.next()).resolves.toEqual({ comment: '' });
    await (await session.call('push')).text();
    await pass(clock, session, 14_000);
    await (await session.call('push')).text();
    const events = [await stream.next(), await stream.next()];
    expect(events).toMatchObject([{ id: '1-1' }, { id: '1-2' }]);
  });

  test('turn a slow answer into a resumable stream [HTTP-05]', async () => {
    const clock = new SimulatedClock();
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      handler: async () => {
        await held.pass();
        return 'done';
      },
    });
    const { url } = await serveTools([hold], { clock });
    const session = await begin(url);
    const call = session.call('hold', {}, 'long');
    await held.arrived();
    await pass(clock, session, 6000);
    const stream = new EventReader(await call);
    await expect(stream.next()).resolves.toEqual({ id: '1.%22long%22-0', retry: '1000' });
    held.release();
    await expect(stream.rest()).resolves.toMatchObject([{ data: { id: 'long', result: {} } }]);
  });

  test('expire events, after which an error replaces a lost response [HTTP-13]', async () => {
    const clock = new SimulatedClock();
    const said = gate();
    const say = defineTool({
      name: 'say',
      description: 'Says something first',
      handler: async (_, context) => {
        context.notify('test/step');
        await said.pass();
        return 'done';
      },
    });
    const limits = { eventTtlMs: 60_000, unreadTimeoutMs: Infinity, keepaliveIntervalMs: 0 };
    const { url, told } = await serveTools([say], { clock, limits });
    const session = await begin(url);
    const stream = new EventReader(await session.call('say', {}, 7));
    await stream.message();
    await stream.leave();
    await told('stream.left');
    said.release();
    await (await session.request('ping')).text();
    await pass(clock, session, 61_000);
    await told('events.lost');
    const again = await (await session.get('1.7-1')).rest();
    expect(again).toMatchObject([{ data: { id: 7, error: { code: -32_000 } } }]);
  });
});

test('do not create streams at a JSON-only endpoint: GET is 405, requests to the client fail [HTTP-09]', async () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks the client',
    handler: async (_, context) => {
      context.notify('test/step');
      return JSON.stringify(await context.request('custom/question'));
    },
  });
  const { url } = await serveTools([ask], { jsonResponses: true });
  const session = await begin(url);
  const { response } = await session.get();
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
  // Clients need not accept event streams.
  const ping = { jsonrpc: '2.0', id: 'p1', method: 'ping' };
  expect((await session.post(ping, { accept: 'application/json' })).status).toBe(200);
  const answer = await jsonOf(await session.call('ask'));
  expect(JSON.stringify(answer)).toContain('configured with jsonResponses');
});
