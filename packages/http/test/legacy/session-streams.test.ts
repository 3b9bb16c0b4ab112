/** Streams of a session, tested without the session. */
import { describe, expect, test } from 'vitest';
import { Quotas } from '../../../../src/actors/memory-budget.ts';
import type { TokenValidity } from '../../src/token-validity.ts';
import { HttpSessionStreams, noStreams } from '../../src/legacy/session-streams.ts';
import type { StreamEvent } from '../../src/nodes/stores.ts';
import type { HttpLimits } from '../../src/options.ts';
import type { OwnedSession } from '../../src/owner/owned-session.ts';
import { WebExchange } from '../../src/web-exchange.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { flush } from '../../../testing/src/index.ts';
import { exchangeContext } from '../exchange-context.ts';

function streaming(limits: Partial<HttpLimits> = {}, fence?: number) {
  const home = exchangeContext({ keepaliveIntervalMs: 0, ...limits });
  const quotas = new Quotas();
  const own: string[] = [];
  const appended: StreamEvent[] = [];
  let known = () => {};
  const append = (said: StreamEvent) => {
    appended.push(said);
    return new Promise<void>((resolve) => (known = resolve));
  };
  const owned = fence === undefined ? undefined : ({ fence, append } as unknown as OwnedSession);
  const streams = new HttpSessionStreams({
    ...home,
    account: { key: 'one', quotas, sessions: 1 },
    listening: {},
    owned,
    firstEvent: (id) => `id: ${id}\ndata: \n\n`,
    drainRetryMs: undefined,
    recall: () => undefined,
    onStreamDisconnected: () => {},
    onStandaloneStream: (is) => void own.push(is),
  });
  /** A client that reads its response. */
  const client = (lastEventId?: string, tokenValidity?: TokenValidity) => {
    const headers = new Headers(lastEventId === undefined ? [] : [['last-event-id', lastEventId]]);
    const leaving = new AbortController();
    const request = new Request('http://127.0.0.1/mcp', { headers, signal: leaving.signal });
    const exchange = Object.assign(
      new WebExchange(request, home),
      tokenValidity && { tokenValidity },
    );
    let text = '';
    let state = 'open';
    const read = async () => {
      const { status, body } = await exchange.response;
      if (status !== 200) state = `${status}`;
      const into = new WritableStream<string>({ write: (piece) => void (text += piece) });
      await body?.pipeThrough(new TextDecoderStream()).pipeTo(into);
      if (status === 200) state = 'ended';
    };
    return {
      exchange,
      leave: () => leaving.abort(),
      read: () => void read().catch(() => (state = 'cut')),
      /** Output since the last call, and the state of the connection. */
      got: async () => {
        for (let at = 0; at < 5; at++) await flush();
        const got = [text, state];
        text = '';
        return got;
      },
    };
  };
  const get = (lastEventId?: string, tokenValidity?: TokenValidity) => {
    const asking = client(lastEventId, tokenValidity);
    asking.read();
    streams.get(asking.exchange);
    return asking;
  };
  /** A stream that answers request 7. */
  const answering = (tokenValidity?: TokenValidity) => {
    const asking = client();
    asking.read();
    const stream = streams.make([7 as InboundRequestId]);
    const sink = asking.exchange.stream({});
    stream.begin(sink, tokenValidity);
    return { ...asking, stream, sink };
  };
  const told = () => own.splice(0);
  const names = () => home.facts.map(({ name }) => name);
  const retained = () => quotas.used.retained;
  const push = (text: string) => streams.push({ text });
  return {
    ...home,
    streams,
    get,
    client,
    answering,
    told,
    names,
    retained,
    push,
    appended,
    know: () => known(),
  };
}

const event = (id: string, data = '') => `id: ${id}\ndata: ${data}\n\n`;

/** A token valid until the given time. */
const until = (at: number): TokenValidity => ({
  until: at,
  endReason: (now) => (now >= at ? 'expired' : undefined),
});

describe('an answering stream', () => {
  test('numbers its events from 1 and sends nothing after its end', async () => {
    const { answering, streams, told, clock } = streaming({ eventTtlMs: 100 });
    const { stream, got } = answering();
    expect(streams.connections).toBe(1);
    stream.send('a\n');
    stream.send('b\n');
    stream.end('answered');
    stream.send('c\n');
    stream.end('silenced');
    expect(await got()).toEqual([
      event('1.7-0') + event('1.7-1', 'a') + event('1.7-2', 'b'),
      'ended',
    ]);
    expect([streams.connections, told(), stream.view.state]).toEqual([0, [], 'ended']);
    clock.increment(100);
    streams.trim();
    answering().stream.end('silenced');
    expect(streams.view.streams).toEqual([]);
  });

  test('ignores the expiry of its token and shows when its state changed', () => {
    const { answering, clock, names, streams } = streaming();
    clock.increment(100);
    const made = streams.make([8 as InboundRequestId]);
    clock.increment(50);
    expect(made.view).toMatchObject({ state: 'cut', ageMs: 50 });
    const { stream, sink } = answering(until(0));
    clock.increment(20);
    expect(stream.view).toMatchObject({ kind: 'post', name: '2', state: 'open', ageMs: 20 });
    stream.onConnectionClosed(sink);
    clock.increment(30);
    expect(stream.view).toMatchObject({ state: 'cut', ageMs: 30 });
    expect(names()).toEqual(['stream.left']);
  });

  test('continues on the latest connection, whatever happens to an earlier one', async () => {
    const { answering, get, streams, client, clock, maintenance } = streaming();
    const first = answering();
    first.stream.send('a\n');
    const second = get('1.7-0');
    expect(streams.connections).toBe(1);
    expect(await first.got()).toEqual([event('1.7-0') + event('1.7-1', 'a'), 'ended']);
    first.stream.onConnectionClosed(client().exchange.stream({}));
    first.stream.send('b\n');
    const both = event('1.7-0') + event('1.7-1', 'a') + event('1.7-2', 'b');
    expect(await second.got()).toEqual([both, 'open']);
    clock.increment(10);
    expect(maintenance.size).toBe(1);
    second.leave();
    expect(maintenance.size).toBe(0);
    expect([streams.connections, first.stream.view.state]).toEqual([0, 'cut']);
    first.stream.release();
    first.stream.pause(7);
    expect(streams.connections).toBe(0);
  });

  test('reports no lost response while one may still come', async () => {
    const { answering, get } = streaming({ maxEventBytes: 60 });
    const { stream } = answering();
    stream.send(`${'x'.repeat(100)}\n`);
    const again = get('1.7-0');
    expect(await again.got()).toEqual([`${event('1.7-0')}: 1 messages were dropped\n\n`, 'open']);
    stream.end('answered');
    expect((await get('1.7-0').got())[0]).toContain('response-lost');
  });

  test('stores its events for other nodes, and starts once they are stored', async () => {
    const { answering, appended, know } = streaming({}, 3);
    const { stream, got } = answering();
    expect(await got()).toEqual(['', 'open']);
    know();
    expect(await got()).toEqual([event('3_1.7-0'), 'open']);
    stream.send('a\n');
    stream.end('answered');
    stream.send('too late\n');
    stream.end('silenced');
    expect(appended).toEqual([
      { stream: '3_1.7', number: 0, text: '' },
      { stream: '3_1.7', number: 1, text: 'a' },
      { stream: '3_1.7', number: 1, text: '', end: 'answered' },
    ]);
  });

  test('ends with an error instead of a response if its process has ended', async () => {
    const { streams, get } = streaming({}, 2);
    streams.restore([{ stream: '1.7', number: 1, text: 'a', ageMs: 0 }]);
    const [text, state] = await get('1.7-0').got();
    expect(state).toBe('ended');
    expect(text).toContain(event('1.7-0') + event('1.7-1', 'a'));
    expect(text).toMatch(/data: \{"jsonrpc":"2.0","id":7,"error"/);
    expect((await get('1.7-1').got())[0]).toContain('"id":7');
  });
});

describe('the log of a stream', () => {
  test('drops expired events and reports those that were never sent', async () => {
    const { answering, get, streams, clock, facts, retained } = streaming({ eventTtlMs: 100 });
    const { stream, sink } = answering();
    stream.send('had\n');
    clock.increment(100);
    streams.trim();
    expect([facts, streams.log.isEmpty]).toEqual([[], true]);
    stream.onConnectionClosed(sink);
    stream.send('fetched\n');
    const again = get('1.7-1');
    expect((await again.got())[0]).toContain('fetched');
    again.leave();
    const before = facts.length;
    clock.increment(100);
    streams.trim();
    expect(facts.slice(before)).toEqual([]);
    stream.send('missed\n');
    clock.increment(100);
    streams.trim();
    stream.send('missed\n');
    stream.send('missed\n');
    stream.end('answered');
    expect(streams.view.streams).toHaveLength(1);
    clock.increment(100);
    streams.trim();
    expect(facts.slice(before)).toMatchObject([
      { name: 'events.lost', message: expect.stringContaining('Dropped 1 message that') },
      { name: 'events.lost', message: expect.stringContaining('Dropped 2 messages that') },
    ]);
    expect([streams.view, retained()]).toEqual([noStreams(streams.limits), 0]);
  });

  test('is empty before the first stream', () => {
    const { limits, streams, retained } = streaming();
    const { maxWaitingPushes, maxEvents, maxEventBytes } = limits;
    expect(streams.view).toEqual({
      streams: [],
      waitingPushes: { count: 0, max: maxWaitingPushes },
      keptEvents: { count: 0, max: maxEvents },
      keptBytes: { count: 0, max: maxEventBytes },
    });
    expect(noStreams(limits)).toEqual(streams.view);
    expect([streams.connections, retained()]).toEqual([0, 0]);
  });
});

describe('a standalone stream', () => {
  test('notifies the session when it opens and closes, and is dropped without events', async () => {
    const { streams, get, told } = streaming();
    const [first, second] = [get(), get()];
    expect([told(), streams.connections]).toEqual([['opened', 'opened'], 2]);
    second.leave();
    expect(told()).toEqual(['closed', 'opened']);
    first.leave();
    expect([told(), streams.connections, streams.view.streams]).toEqual([['closed'], 0, []]);
    expect(await get('9-0').got()).toEqual([expect.stringContaining('9-0'), '400']);
  });

  test('is neither opened nor resumed for a disconnected client', () => {
    const { answering, client, streams, told } = streaming();
    const { stream, sink } = answering();
    stream.onConnectionClosed(sink);
    for (const id of [undefined, '1.7-0']) {
      const { exchange, leave } = client(id);
      leave();
      streams.get(exchange);
    }
    expect([streams.connections, streams.view.streams.length, told()]).toEqual([0, 1, []]);
  });

  test('ends with its token and suggests when to reconnect', async () => {
    const { get, clock, push, names, streams } = streaming({ retryMs: 7 });
    const first = get(undefined, until(100));
    push('a\n');
    clock.increment(90);
    expect(await first.got()).toEqual([event('1-0') + event('1-1', 'a'), 'open']);
    clock.increment(10);
    expect(await first.got()).toEqual(['retry: 7\n\n', 'ended']);
    expect(streams.view.streams).toMatchObject([{ state: 'cut', unreadBytes: 0 }]);
    const again = get('1-0', until(200));
    clock.increment(100);
    expect(await again.got()).toEqual([`${event('1-0')}${event('1-1', 'a')}retry: 7\n\n`, 'ended']);
    expect(names().filter((name) => name === 'authorization.expired')).toHaveLength(2);
  });

  test.each([
    [undefined, ''],
    [7, 'retry: 7\n\n'],
  ])(
    'ends with its session, and asks the client to try another node after %s ms',
    async (ms, said) => {
      const { get, answering, streams, push, retained } = streaming();
      const [own, other] = [get(), answering()];
      push('a\n');
      expect(retained()).toBeGreaterThan(0);
      streams.close(ms);
      expect(await own.got()).toEqual([event('1-0') + event('1-1', 'a') + said, 'ended']);
      expect(await other.got()).toEqual([event('2.7-0') + said, 'ended']);
      expect([streams.view.streams, streams.connections, retained()]).toEqual([[], 0, 0]);
    },
  );

  test('of another process is replayed on a new one', async () => {
    const { streams, get, know } = streaming({}, 2);
    streams.restore([{ stream: '1', number: 1, text: 'a', ageMs: 0 }]);
    const again = get('1-0');
    know();
    expect(await again.got()).toEqual([event('1-1', 'a') + event('2_1-0'), 'open']);
  });
});

describe('queued messages', () => {
  test('stay within maxWaitingPushBytes and count towards memory while queued', async () => {
    const { streams, push, get, names, retained } = streaming({
      maxWaitingPushBytes: 4,
      maxEventBytes: 0,
    });
    for (let round = 0; round < 2; round++) {
      for (const text of ['a\n', 'b\n']) push(text);
      expect([
        names().includes('pushes.lost'),
        retained(),
        streams.view.waitingPushes.count,
      ]).toEqual([false, 4, 2]);
      const stream = get();
      expect([retained(), streams.view.waitingPushes.count]).toEqual([0, 0]);
      expect((await stream.got())[0]).toContain('data: b\n');
      stream.leave();
    }
    for (const text of ['a\n', 'b\n', 'c\n']) push(text);
    expect(names()).toContain('pushes.lost');
    const dropped: string[] = [];
    streams.push({ text: 'd\n', onDropped: () => dropped.push('d') });
    streams.closeStandaloneStreams();
    expect([dropped, streams.view.waitingPushes.count, retained()]).toEqual([['d'], 0, 0]);
    streams.push({ text: 'e\n', onDropped: () => dropped.push('e') });
    streams.close();
    expect(dropped).toEqual(['d', 'e']);
  });

  test('use the second newest stream while the client reads only that one', async () => {
    const { get, client, streams, push } = streaming();
    const older = get();
    const newer = client();
    streams.get(newer.exchange);
    push(`${'x'.repeat(70_000)}\n`);
    push('a\n');
    expect((await older.got())[0]).toBe(event('1-0') + event('1-1', 'a'));
    newer.read();
    await newer.got();
    push('b\n');
    expect((await newer.got())[0]).toBe(event('2-2', 'b'));
  });
});
