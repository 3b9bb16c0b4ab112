import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { nameOfStream, readLastEventId } from '../../src/legacy/stream-names.ts';
import { TestClock, gate } from '../../../testing/src/index.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { pollTool } from '../poll-tool.ts';
import { EventReader, begin, jsonOf } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

const notification = (n: number) => ({ jsonrpc: '2.0', method: 'test/step', params: { n } });

/** A tool that notifies before each gate and ends after the last. */
function stepping(...gates: readonly ReturnType<typeof gate>[]) {
  return defineTool({
    name: 'steps',
    description: 'Says what it does',
    handler: async (_, context) => {
      for (const [n, each] of gates.entries()) {
        context.notify('test/step', { n });
        await each.pass();
      }
      return 'done';
    },
  });
}

const result = { jsonrpc: '2.0', result: { content: [{ type: 'text', text: 'done' }] } };

describe('a call', () => {
  test('with only a response is answered with JSON [HTTP-04]', async () => {
    const { url } = await serveTools([stepping()]);
    const response = await (await begin(url)).call('steps');
    expect(response.headers.get('content-type')).toBe('application/json');
    await expect(jsonOf(response)).resolves.toMatchObject(result);
  });

  test('with earlier messages is answered with a stream that ends with the response [HTTP-04] [HTTP-07]', async () => {
    const step = gate();
    step.release();
    const { url } = await serveTools([stepping(step)]);
    const response = await (await begin(url, '2025-06-18')).call('steps');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toContain('no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    await expect(new EventReader(response).rest()).resolves.toMatchObject([
      { data: notification(0) },
      { data: result },
    ]);
  });

  test.each([
    ['2025-11-25', [{ id: '1.1-0', retry: '1000' }]],
    ['2025-06-18', []],
    ['2025-03-26', []],
  ])('of %s has a stream with the first event %j [HTTP-05]', async (revision, opening) => {
    const step = gate();
    step.release();
    const { url } = await serveTools([stepping(step)]);
    const events = await new EventReader(await (await begin(url, revision)).call('steps')).rest();
    const ids = ['1.1-1', '1.1-2'].map((id) => ({ id, data: expect.anything() as unknown }));
    expect(events).toEqual([...opening, ...ids]);
  });

  test('continues while its client is away and replays everything missed [HTTP-08] [HTTP-12]', async () => {
    const gates = [gate(), gate(), gate()];
    const { url, facts, told } = await serveTools([stepping(...gates)]);
    const session = await begin(url);
    const first = new EventReader(await session.call('steps'));
    const { id } = await first.message();
    await first.leave();
    await told('stream.left');
    gates[0]?.release();
    await gates[1]?.arrived();
    const again = await session.get(id);
    await told('stream.resumed');
    await expect(again.message()).resolves.toMatchObject({ data: notification(1) });
    for (const each of gates) each.release();
    await expect(again.rest()).resolves.toMatchObject([
      { data: notification(2) },
      { data: result },
    ]);
    expect(facts.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([]);
  });

  test('that ended while its client was away is replayed once [HTTP-12]', async () => {
    const step = gate();
    const { url, told } = await serveTools([stepping(step)]);
    const session = await begin(url);
    const first = new EventReader(await session.call('steps'));
    await first.message();
    await first.leave();
    await told('stream.left');
    step.release();
    // Once a later request is answered, the result has reached the session.
    await (await session.request('ping')).text();
    const again = await session.get('1.1-1');
    const missed = await again.rest();
    expect(missed).toMatchObject([
      { id: '1.1-1', retry: '1000' },
      { id: '1.1-2', data: result },
    ]);
    const third = await session.get('1.1-2');
    expect(third.response.status).toBe(405);
    await expect(jsonOf(third.response)).resolves.toMatchObject({
      error: { message: expect.stringContaining('cannot be resumed') as string },
    });
  });

  test('may close its connection so that the client polls [HTTP-06]', async () => {
    const away = gate();
    const { url } = await serveTools([pollTool(away)], { limits: { retryMs: 7 } });
    const session = await begin(url);
    const first = await new EventReader(await session.call('poll')).rest();
    expect(first).toEqual([{ id: '1.1-0', retry: '7' }, { retry: '7' }]);
    const again = await session.get('1.1-0');
    away.release();
    await expect(again.message()).resolves.toMatchObject({ id: '1.1-1', data: result });
    // Clients of older revisions do not reconnect.
    const older = await begin(url, '2025-06-18');
    await expect(jsonOf(await older.call('poll'))).resolves.toMatchObject(result);
  });

  test('has its stream closed without a response once the client cancels it [HTTP-07]', async () => {
    const step = gate();
    const { url } = await serveTools([stepping(step)]);
    const session = await begin(url);
    const stream = new EventReader(await session.call('steps', {}, 'a'));
    await stream.message();
    await session.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'a' },
    });
    await expect(stream.rest()).resolves.toEqual([]);
    // A repeated resume does not ask the client to reconnect forever.
    expect((await session.get('1.%22a%22-1')).response.status).toBe(405);
  });

  test('cancelled before any output gets an empty stream instead of JSON [HTTP-07]', async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Says nothing',
      handler: async (_, { signal }) => {
        await held.pass(signal);
        return 'done';
      },
    });
    const { url } = await serveTools([hold]);
    const session = await begin(url);
    const response = session.call('hold', {}, 'a');
    await held.arrived();
    await session.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'a' },
    });
    const { status, headers } = await response;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await expect(response.then((each) => each.text())).resolves.toBe('');
  });

  test('continues if its client disconnects before any output, and reports the lost answer [HTTP-08]', async () => {
    const held = gate();
    let ended = false;
    const hold = defineTool({
      name: 'hold',
      description: 'Says nothing',
      handler: async () => {
        await held.pass();
        ended = true;
        return 'done';
      },
    });
    const { url, told } = await serveTools([hold]);
    const session = await begin(url);
    const abort = new AbortController();
    const headers = { ...session.headers, 'content-type': 'application/json' };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 'left',
      method: 'tools/call',
      params: { name: 'hold' },
    });
    const answer = fetch(url, { method: 'POST', headers, body, signal: abort.signal });
    await held.arrived();
    abort.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect(told('answer.lost')).resolves.toMatchObject({
      message: expect.stringContaining('"left"') as string,
    });
    held.release();
    await (await session.request('ping')).text();
    expect(ended).toBe(true);
  });
});

describe('server-initiated messages', () => {
  const push = defineTool({
    name: 'push',
    description: 'Notifies without a request',
    inputSchema: {
      type: 'object',
      properties: { n: { type: 'number' }, text: { type: 'string' } },
    },
    handler: ({ n = 0, text = '' }, { session }) => {
      session.notify('test/step', text === '' ? { n } : { n, text });
      return 'done';
    },
  });

  test('are sent on a GET stream, unlike responses [HTTP-09]', async () => {
    const { url } = await serveTools([push]);
    const session = await begin(url);
    const stream = await session.get();
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    await expect(stream.next()).resolves.toEqual({ id: '1-0', retry: '1000' });
    await expect(jsonOf(await session.call('push', { n: 1 }))).resolves.toMatchObject(result);
    await session.call('push', { n: 2 });
    const events = [await stream.next(), await stream.next()];
    expect(events).toMatchObject([{ data: notification(1) }, { data: notification(2) }]);
  });

  test('are sent on the newest stream, or the previous one if that closes [HTTP-09]', async () => {
    const { url, told } = await serveTools([push]);
    const session = await begin(url);
    const older = await session.get();
    const newer = await session.get();
    await session.call('push', { n: 1 });
    await expect(newer.message()).resolves.toMatchObject({ id: '2-1', data: notification(1) });
    await newer.leave();
    await told('stream.left');
    await session.call('push', { n: 2 });
    await expect(older.message()).resolves.toMatchObject({ id: '1-1', data: notification(2) });
  });

  test('are queued without a stream, and the oldest dropped and reported beyond the limit [HTTP-13]', async () => {
    const { url, told } = await serveTools([push], { limits: { maxWaitingPushes: 2 } });
    const session = await begin(url);
    for (const n of [1, 2, 3]) await session.call('push', { n });
    await expect(told('pushes.lost')).resolves.toMatchObject({
      message: expect.stringContaining('1 message') as string,
    });
    const stream = await session.get();
    const got = [await stream.message(), await stream.message()];
    expect(got).toMatchObject([{ data: notification(2) }, { data: notification(3) }]);
  });

  test('are queued up to maxWaitingPushBytes [HTTP-13]', async () => {
    const limits = { maxWaitingPushBytes: 1000 };
    const { url, told } = await serveTools([push], { limits });
    const session = await begin(url);
    for (const n of [1, 2]) await session.call('push', { n, text: 'x'.repeat(600) });
    await told('pushes.lost');
    const stream = await session.get();
    await expect(stream.message()).resolves.toMatchObject({ data: { params: { n: 2 } } });
    // Messages sent on a stream are no longer queued.
    await stream.leave();
    await told('stream.left');
    await session.call('push', { n: 3, text: 'x'.repeat(600) });
    const next = await session.get();
    await expect(next.message()).resolves.toMatchObject({ data: { params: { n: 3 } } });
  });

  test('include requests only while a stream is open, otherwise with the next one', async () => {
    const clock = new TestClock();
    const { url, facts } = await serveTools([push], { clock, limits: { keepaliveIntervalMs: 0 } });
    const session = await begin(url, '2025-06-18', { roots: {} });
    const left = async (stream: EventReader, times: number) => {
      await stream.leave();
      await expect
        .poll(() => facts.filter(({ name }) => name === 'stream.left').length)
        .toBe(times);
    };
    const answer = async (stream: EventReader) => {
      const { data } = await stream.message();
      expect(data.method).toBe('roots/list');
      expect(await session.reply(data, { roots: [] })).toBe(202);
    };
    const first = await session.get();
    await answer(first);
    const second = await session.get();
    await left(first, 1);
    await session.notify('notifications/roots/list_changed');
    await answer(second);
    await left(second, 2);
    await session.notify('notifications/roots/list_changed');
    // Longer than the timeout of a roots request.
    clock.increment(10_000);
    const third = await session.get();
    await answer(third);
    await session.call('push', { n: 1 });
    expect((await third.message()).data).toEqual(notification(1));
  });

  test('are replayed only on the stream the client resumes [HTTP-12]', async () => {
    const { url } = await serveTools([push]);
    const session = await begin(url);
    const first = await session.get();
    await session.call('push', { n: 1 });
    const second = await session.get();
    await session.call('push', { n: 2 });
    await second.message();
    await first.message();
    const again = await session.get('1-0');
    // The first connection closes; the stream continues on this one.
    await expect(first.rest()).resolves.toEqual([]);
    await expect(again.message()).resolves.toMatchObject({ id: '1-1', data: notification(1) });
    await session.call('push', { n: 3 });
    const got = await Promise.race([again.message(), second.message()]);
    expect(got).toMatchObject({ data: notification(3) });
  });

  test('use a new stream if nothing is left of the one the client resumes [HTTP-13]', async () => {
    const { url, told } = await serveTools([push], { limits: { maxEvents: 0 } });
    const session = await begin(url);
    const first = await session.get();
    await first.next();
    await first.leave();
    await told('stream.left');
    const again = await session.get('1-0');
    expect(again.response.status).toBe(200);
    await session.call('push', { n: 1 });
    await expect(again.message()).resolves.toMatchObject({ data: notification(1) });
  });
});

describe('dropped events', () => {
  test('are replaced by an error in place of a lost response [HTTP-13]', async () => {
    const step = gate();
    const { url, told } = await serveTools([stepping(step)], { limits: { maxEvents: 0 } });
    const session = await begin(url);
    const first = new EventReader(await session.call('steps', {}, 'a'));
    await first.message();
    await first.leave();
    await told('stream.left');
    step.release();
    await told('events.lost');
    const again = await (await session.get('1.%22a%22-1')).rest();
    expect(again).toMatchObject([
      { data: { id: 'a', error: { code: -32_000, data: { reason: 'response-lost' } } } },
    ]);
  });

  test('include a response too large for the log [HTTP-13]', async () => {
    const held = gate();
    const long = defineTool({
      name: 'long',
      description: 'Says something, and then very much',
      handler: async (_, context) => {
        context.notify('test/step');
        await held.pass();
        return 'x'.repeat(1000);
      },
    });
    const { url, told } = await serveTools([long], { limits: { maxEventBytes: 500 } });
    const session = await begin(url);
    const first = new EventReader(await session.call('long', {}, 'a'));
    const { id } = await first.message();
    await first.leave();
    await told('stream.left');
    held.release();
    await told('events.lost');
    const message = expect.stringContaining('was not fetched in time') as string;
    expect((await (await session.get(id)).rest()).filter(({ data }) => data)).toMatchObject([
      { data: { id: 'a', error: { message, data: { reason: 'response-lost' } } } },
    ]);
  });

  test('leave the rest in order, with a comment in their place [HTTP-13]', async () => {
    const gates = [gate(), gate(), gate()];
    const { url, told } = await serveTools([stepping(...gates)], { limits: { maxEvents: 2 } });
    const session = await begin(url);
    const first = new EventReader(await session.call('steps'));
    await first.message();
    await first.leave();
    await told('stream.left');
    for (const each of gates) each.release();
    await gates[2]?.arrived();
    await (await session.request('ping')).text();
    const events = await (await session.get('1.1-0')).rest();
    expect(events).toMatchObject([
      { id: '1.1-0' },
      { comment: expect.stringContaining('2 messages') as string },
      { data: notification(2) },
      { data: result },
    ]);
  });

  test.each(['nonsense', '1', '7-0', '1-99', '0-1', '1.%-0', '1.{}-0', '-1', 'é-1'])(
    'do not excuse the unknown event id %j, which is rejected [HTTP-12]',
    async (id) => {
      const { url } = await serveTools([]);
      const session = await begin(url);
      await session.get();
      const { response } = await session.get(encodeURI(id));
      expect(response.status).toBe(400);
      expect((await jsonOf(response)).error?.message).toContain(encodeURI(id));
    },
  );
});

test("leave the request ids in the stream's name unless they are too long", () => {
  const short = [1, 'a b'] as InboundRequestId[];
  const long = ['x'.repeat(300)] as InboundRequestId[];
  const name = nameOfStream(1, 7, short);
  const place = { serial: 7, number: 3, isLast: false, requestIds: short };
  expect(readLastEventId(`${name}-3`)).toEqual({ ...place, stream: name, fence: 1 });
  expect(nameOfStream(1, 7, long)).toBe('7.');
  expect(readLastEventId('7.-3')).toMatchObject({ requestIds: [] });
  expect(readLastEventId('7-3')).toMatchObject({ requestIds: undefined });
  // Names by a later owner contain its fence.
  const claimed = nameOfStream(1_764_000_000_000, 7, short);
  expect(readLastEventId(`${claimed}-3`)).toMatchObject({ ...place, fence: 1_764_000_000_000 });
});
