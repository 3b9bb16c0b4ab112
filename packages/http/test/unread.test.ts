/** Clients that read nothing, or slowly. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { MemoryNodes } from '../../nodes/test/memory-stores.ts';
import { TestClock, enveloped, gate, flush } from '../../testing/src/index.ts';
import { WatchedSink } from '../src/watched-sink.ts';
import type { SinkOutlet, SinkOwner } from '../src/watched-sink.ts';
import { exchangeContext } from './exchange-context.ts';
import { posted } from './faults/wire.ts';
import { headersOf } from './modern/modern-client.ts';
import { EventReader, RawSession, begin } from './raw-client.ts';
import type { Message } from './raw-client.ts';
import { reportLog, serveHttp, serveTools } from './serving.ts';

/** Larger than the buffers of a connection. */
const long = 32 * 1024 ** 2;

const big = defineTool({
  name: 'big',
  description: 'Says more than a connection holds',
  inputSchema: { type: 'object', properties: { streamed: { type: 'boolean' } } },
  handler: ({ streamed = false }, context) => {
    if (streamed) context.notify('test/step');
    return 'x'.repeat(long);
  },
});

const callOf = (streamed: boolean) => ({ name: 'big', arguments: { streamed } });

/** Requests of calls whose answers exceed the buffers. */
const asked: readonly (readonly [
  what: string,
  bytes: (url: URL, session: RawSession) => Promise<string> | string,
])[] = [
  ...[false, true].map(
    (streamed) =>
      [
        `of 2026-07-28, ${streamed ? 'as a stream' : 'as JSON'}`,
        (url: URL) => {
          const message = enveloped(1, 'tools/call', callOf(streamed)) as Message;
          return posted(url, message, headersOf(message));
        },
      ] as const,
  ),
  ...[false, true].map(
    (streamed) =>
      [
        `in a session, ${streamed ? 'as a stream' : 'as JSON'}`,
        (url: URL, session: RawSession) => {
          const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: callOf(streamed) };
          return posted(url, message, session.headers);
        },
      ] as const,
  ),
  [
    'that was kept and is repeated',
    async (_url, session) => {
      const stream = await session.call('big', { streamed: true }, 7);
      await stream.text();
      return `GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: 1.7-1\r\nMcp-Session-Id: ${session.id}\r\n\r\n`;
    },
  ],
];

const limits = { unreadTimeoutMs: 3000, maxEventBytes: 2 ** 26 };

/** Sends a request and stops reading after the first bytes of the answer. */
async function unreadAnswer(url: URL, bytes: string): Promise<Socket> {
  const socket = connect(Number(url.port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** Bytes received until the connection closes. */
async function lengthOfRest(socket: Socket): Promise<number> {
  let length = 0;
  socket.on('data', (chunk: Buffer) => (length += chunk.length));
  socket.resume();
  await once(socket, 'close');
  return length;
}

/** Advances the clock, with event loop turns that send pending output. */
async function pass(clock: TestClock, seconds: number, between?: () => Promise<void>) {
  for (let second = 0; second < seconds; second++) {
    clock.increment(1000);
    for (let at = 0; at < 20; at++) await flush();
    await between?.();
  }
}

describe.each(asked)('an answer %s', (_, bytesOf) => {
  test('is cut off if its client reads nothing, even after the last message [HTTP-15]', async () => {
    const clock = new TestClock();
    const { url, facts } = await serveTools([big], { clock, limits });
    const socket = await unreadAnswer(url, await bytesOf(url, await begin(url)));
    // Bytes in the connection's buffers count as read.
    await pass(clock, 2);
    expect(facts.filter(({ name }) => name === 'stream.cut')).toEqual([]);
    await pass(clock, 8);
    expect(facts.filter(({ name }) => name === 'stream.cut')).toMatchObject([
      { level: 'warning', message: expect.stringContaining('for 3000 ms') },
    ]);
    expect(await lengthOfRest(socket)).toBeLessThan(long);
  });

  test('is completed for a slow client [HTTP-15]', async () => {
    const clock = new TestClock();
    const { url, facts } = await serveTools([big], { clock, limits });
    const bytes = (await bytesOf(url, await begin(url))).replace(
      '\r\n',
      '\r\nConnection: close\r\n',
    );
    const socket = await unreadAnswer(url, bytes);
    socket.on('data', () => {});
    socket.pause();
    // Slow enough that the whole answer takes ten times the unread timeout.
    for (let part = 1; part <= 15; part++) {
      socket.resume();
      while (socket.bytesRead < (part * long) / 16) await once(socket, 'data');
      socket.pause();
      await pass(clock, 2);
    }
    expect(facts.filter(({ name }) => name === 'stream.cut')).toEqual([]);
    await lengthOfRest(socket);
    expect(socket.bytesRead).toBeGreaterThan(long);
  });
});

test('ends the session of an HTTP+SSE client that reads nothing [HTTP-17]', async () => {
  const clock = new TestClock();
  const { url, facts, told } = await serveTools([big], { clock, limits, sse: true });
  const head = 'GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n';
  const socket = connect(Number(url.port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(head);
  let got = '';
  while (!/sessionId=\S+/.test(got)) got += String((await once(socket, 'data'))[0]);
  socket.pause();
  const messages = new URL(`/messages?sessionId=${/sessionId=(\S+)/.exec(got)?.[1]}`, url);
  const session = new RawSession(messages, {});
  await session.post({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'slow', version: '1' },
    },
  });
  await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await session.call('big');
  await pass(clock, 2);
  expect(facts.filter(({ name }) => name === 'stream.cut')).toEqual([]);
  await pass(clock, 8);
  const { details } = await told('session.closed');
  const why = expect.stringContaining('The client has read none of') as string;
  expect(details).toMatchObject({ cause: { reason: why } });
  const cut = facts.filter(({ name }) => name === 'stream.cut');
  expect(cut).toMatchObject([{ level: 'warning', message: why }]);
  expect(await lengthOfRest(socket)).toBeLessThan(long);
});

test('cuts a stream relayed from another node whose client reads nothing [HTTP-15]', async () => {
  const clock = new TestClock();
  const nodes = new MemoryNodes({ clock, limits: { maxBytes: 2 ** 26 } });
  const facts = reportLog();
  const held = gate();
  const tool = defineTool({
    ...big,
    handler: async (_, context) => {
      context.notify('test/step');
      await held.pass();
      return 'x'.repeat(long);
    },
  });
  const server = () =>
    createMcpServer({
      name: 'node',
      version: '1',
      tools: [tool],
      stateKeys: [Buffer.alloc(32, 1).toString('base64')],
    });
  const options = { clock, limits, report: facts.report };
  const [one, other] = [
    await serveHttp(server(), { ...options, stores: nodes.start() }),
    await serveHttp(server(), { ...options, stores: nodes.start() }),
  ];
  const session = await begin(one);
  const call = await session.call('big', {}, 7);
  const events = new EventReader(call);
  let id: string | undefined = '';
  while (id?.endsWith('-1') !== true) ({ id } = (await events.next()) ?? {});
  const socket = await unreadAnswer(
    other,
    `GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: ${id}\r\nMcp-Session-Id: ${session.id}\r\n\r\n`,
  );
  held.release();
  // The forwarding node reads only as fast as its client, so either node may notice first.
  const cuts = () => facts.facts.filter(({ name }) => name === 'stream.cut');
  await expect
    .poll(async () => {
      await pass(clock, 5);
      return cuts().length;
    })
    .toBeGreaterThan(0);
  for (const { message } of cuts()) expect(message).toContain('for 3000 ms');
  expect(await lengthOfRest(socket)).toBeLessThan(long);
  await events.leave();
});

/** A sink over an outlet controlled by the test. */
function watched(keepaliveIntervalMs = 1000, until = Infinity) {
  const home = exchangeContext({ unreadTimeoutMs: 100, keepaliveIntervalMs, maxUnreadBytes: 50 });
  const state = { untaken: 0, unanswered: 0, isItsTurn: true, happened: [] as string[] };
  const outlet: SinkOutlet = {
    write: (data) => {
      state.untaken += data.length;
      state.happened.push(String(data));
      return data.length;
    },
    onDrained: () => {},
    get unsentBytes() {
      return state.untaken;
    },
    get hasConnection() {
      return state.isItsTurn;
    },
    unacknowledgedMs: () => state.unanswered,
    end: () => void state.happened.push('end'),
    cut: () => {
      state.untaken = 0;
      state.happened.push('cut');
    },
  };
  const owner: SinkOwner = {
    tokenValidity: { until, endReason: (now) => (now >= until ? 'expired' : undefined) },
    onTokenEnded: (end) => {
      state.happened.push(end);
      sink.end();
    },
    onStalled: (why) => void state.happened.push(why),
  };
  const sink = new WatchedSink(outlet, home);
  sink.setOwner(owner);
  return { ...home, sink, owner, state, happened: () => state.happened.splice(0) };
}

describe('WatchedSink', () => {
  test('is ticked until it has ended and everything was read', () => {
    const { sink, state, maintenance, clock } = watched();
    sink.write('abc');
    sink.end();
    clock.increment(50);
    expect(maintenance.size).toBe(1);
    state.untaken = 0;
    clock.increment(10);
    expect([maintenance.size, state.happened]).toEqual([0, ['abc', 'end']]);
    // The client has moved on on the same connection.
    sink.cut();
    expect(state.happened).toEqual(['abc', 'end']);
  });

  test('restarts the timeout with each byte read, and cuts after it', () => {
    const { sink, state, maintenance, clock, happened } = watched();
    sink.write('x'.repeat(20));
    happened();
    for (let at = 0; at < 10; at++) {
      clock.increment(90);
      state.untaken--;
      clock.increment(10);
    }
    expect(happened()).toEqual([]);
    expect(sink.unreadMs).toBe(0);
    clock.increment(5);
    const { untaken } = state;
    state.untaken = 0;
    expect(sink.unreadMs).toBe(0);
    state.untaken = untaken;
    clock.increment(85);
    expect([happened(), sink.unreadMs]).toEqual([[], 90]);
    clock.increment(10);
    expect(happened()).toEqual(['cut', 'has read none of 10 bytes for 100 ms']);
    expect([maintenance.size, sink.unsentBytes]).toEqual([0, 0]);
  });

  test('cuts if sent data is not acknowledged in time', () => {
    const { sink, state, maintenance, clock, happened } = watched();
    sink.write('abc');
    state.untaken = 0;
    happened();
    state.unanswered = 99;
    clock.increment(500);
    expect(happened()).toEqual([]);
    state.unanswered = 100;
    clock.increment(10);
    expect(happened()).toEqual(['cut', 'has acknowledged nothing for 100 ms']);
    expect(maintenance.size).toBe(0);
  });

  test('does not count writes as progress while nothing is read', () => {
    const { sink, clock, happened } = watched();
    for (let at = 0; at < 12; at++) {
      sink.write('€');
      clock.increment(10);
    }
    expect(happened()).toContain('cut');
  });

  test('does not time out while earlier pipelined answers have the connection', () => {
    const { sink, state, clock, happened } = watched();
    state.isItsTurn = false;
    sink.write('abc');
    clock.increment(1000);
    state.isItsTurn = true;
    clock.increment(90);
    expect(happened()).toEqual(['abc']);
    clock.increment(20);
    expect(happened()).toContain('cut');
  });

  test('reports too many unread bytes, but not a single long message', () => {
    const { sink, state, happened } = watched();
    sink.write('x'.repeat(500));
    expect(happened()).toHaveLength(1);
    sink.write('y');
    expect(happened()).toEqual(['y', 'has not read 501 bytes, more than the limit of 50']);
    state.untaken = 50;
    sink.write('z');
    expect(happened()).toEqual(['z']);
  });

  test('sends keepalives on a silent stream unless its client is not reading', () => {
    const { sink, state, clock, happened } = watched();
    clock.increment(990);
    expect(happened()).toEqual([]);
    clock.increment(10);
    expect(happened()).toEqual([':\n\n']);
    state.untaken = 0;
    clock.increment(1000);
    expect(happened()).toEqual([':\n\n']);
    state.untaken = 0;
    clock.increment(500);
    sink.write('abc');
    state.untaken = 0;
    clock.increment(10);
    clock.increment(990);
    expect(happened()).toEqual(['abc']);
    clock.increment(10);
    expect(happened()).toEqual([':\n\n']);
    sink.cut();
    sink.write('too late');
    clock.increment(5000);
    expect(happened()).toEqual(['cut']);
  });

  test('measures silence from when its owner was set', () => {
    const { sink, owner, state, clock, happened } = watched();
    clock.increment(500);
    sink.write('abc');
    state.untaken = 0;
    sink.setOwner(owner);
    clock.increment(990);
    expect(happened()).toEqual(['abc']);
    clock.increment(10);
    expect(happened()).toEqual([':\n\n']);
  });

  test('reports the end of the token once, instead of a keepalive', () => {
    const { clock, happened } = watched(1000, 1000);
    clock.increment(990);
    expect(happened()).toEqual([]);
    clock.increment(1000);
    expect(happened()).toEqual(['expired', 'end']);
  });

  test('sends no keepalives if they are disabled', () => {
    const { clock, happened } = watched(0);
    clock.increment(100_000);
    expect(happened()).toEqual([]);
  });

  test('holds output back, then sends it in order, and ends if it was ended meanwhile', async () => {
    const { sink, clock, happened } = watched();
    let settle = () => {};
    sink.holdUntil(new Promise((resolve) => (settle = resolve)));
    sink.write('a');
    sink.write('b');
    sink.end();
    sink.write('too late');
    clock.increment(1000);
    expect(happened()).toEqual([]);
    settle();
    await flush();
    expect(happened()).toEqual(['ab', 'end']);
    expect(sink.unsentBytes).toBe(2);
  });

  test('drops held output after a cut', async () => {
    const { sink, happened } = watched();
    let settle = () => {};
    sink.holdUntil(new Promise((resolve) => (settle = resolve)));
    sink.write('a');
    expect(sink.unsentBytes).toBe(1);
    sink.cut();
    expect(sink.unsentBytes).toBe(0);
    settle();
    await flush();
    expect(happened()).toEqual(['cut']);
  });

  test('reports a cut after its end to the endpoint instead of its owner', () => {
    const { sink, facts, clock, happened } = watched();
    sink.write('abc');
    sink.end();
    clock.increment(200);
    expect(happened()).toEqual(['abc', 'end', 'cut']);
    expect(facts).toMatchObject([
      { name: 'stream.cut', message: expect.stringContaining('complete answer') },
    ]);
  });
});
