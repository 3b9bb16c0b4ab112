import { describe, expect, test } from 'vitest';
import type { WriterEvent } from '../../src/machines/peer-ports.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { answerOf, clientId, serverId } from './ids.ts';
import { settled } from './fakes.ts';
import { startWriter } from './start-writer.ts';

const answer = (id: number, text = '') => answerOf(id, { text });
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('the writer', () => {
  test('writes all output of a turn at its end, in order', async () => {
    const { send, sink, ids } = startWriter();
    send(answer(0), answer(1));
    send(answer(2));
    expect(sink.writes).toEqual([]);
    await settled();
    expect(sink.writes).toHaveLength(1);
    send(answer(3));
    await settled();
    expect(sink.writes).toHaveLength(2);
    expect(ids()).toEqual([0, 1, 2, 3]);
  });

  test('splits a huge turn into several writes without losing anything', async () => {
    const { send, sink, ids } = startWriter();
    for (const id of upTo(1000)) send(answer(id, 'x'.repeat(1000)));
    expect(sink.writes.length).toBeGreaterThan(1);
    expect(sink.writes.length).toBeLessThan(10);
    await settled();
    expect(ids()).toEqual(upTo(1000));
  });

  test('writes one line per frame, and one per batch', async () => {
    const { send, sink } = startWriter();
    const error = { code: 1, message: 'a\nb' };
    send(answer(1, '\n'), [
      { jsonrpc: '2.0', error },
      { jsonrpc: '2.0', id: clientId(2), error },
    ]);
    await settled();
    expect(sink.writes.join('').match(/\n/g)).toHaveLength(2);
  });

  test('writes pending output when stopped, and leaves the sink', () => {
    const { actor, send, sink, ids } = startWriter();
    send(answer(1));
    actor.stop();
    expect(ids()).toEqual([1]);
    expect(sink.events).toBeUndefined();
  });

  test('keeps nothing after it is stopped, and ignores later events of the stream', async () => {
    const { actor, send, sink, told, heard, view } = startWriter({ room: 1 });
    for (const id of [1, 2]) {
      send(answer(id));
      await settled();
    }
    const { events } = sink;
    send(answer(3));
    actor.stop();
    expect(view()).toEqual({ state: 'ended', queuedBytes: 0 });
    events?.broken(new Error('EPIPE'));
    expect(told()).toEqual([]);
    expect(heard).toEqual([]);
  });
});

describe('a full sink', () => {
  test('gets nothing until it has room, then everything in order', async () => {
    const { send, drain, sink, ids } = startWriter({ room: 1 });
    for (const id of upTo(50)) {
      send(answer(id));
      await settled();
    }
    expect(sink.writes).toHaveLength(1);
    drain();
    expect(ids()).toEqual(upTo(50));
  });

  test('gets everything in order even if it fills repeatedly while draining', async () => {
    const { send, drain, ids } = startWriter({ room: 1 });
    const big = 'x'.repeat(300_000);
    for (const id of upTo(12)) {
      send(answer(id, id % 3 === 0 ? big : ''));
      await settled();
      if (id % 4 === 3) drain(1);
    }
    for (let i = 0; i < 12; i++) drain(1);
    expect(ids()).toEqual(upTo(12));
  });

  test('blocks the session only above the limit, and is reported once', async () => {
    const { send, told, heard } = startWriter({ room: 1, maxOutboundBytes: 500 });
    send(answer(0, 'x'.repeat(10_000)));
    await settled();
    send(answer(1, 'x'.repeat(300)));
    await settled();
    expect(told()).toEqual([]);
    for (const id of [2, 3, 4]) {
      send(answer(id, 'x'.repeat(300)));
      await settled();
    }
    expect(told()).toEqual(['output.blocked']);
    expect(heard.map(({ name }) => name)).toEqual(['output.blocked']);
  });

  test('flows again only when the queue is empty', async () => {
    const { send, drain, told, ids, view } = startWriter({ room: 1, maxOutboundBytes: 500 });
    for (const id of upTo(4)) {
      send(answer(id, 'x'.repeat(300_000)));
      await settled();
    }
    expect(view()).toEqual({
      state: 'blocked',
      queuedBytes: expect.toSatisfy((size: number) => size > 900_000) as number,
    });
    drain(1);
    expect(told()).toEqual(['output.blocked']);
    drain(2);
    expect(told()).toEqual(['output.blocked', 'output.flowing']);
    // The last write has filled the sink again.
    expect(view()).toEqual({ state: 'waiting', queuedBytes: 0 });
    expect(ids()).toEqual(upTo(4));
  });

  test('shows its state in the view', async () => {
    const { send, drain, sink, view } = startWriter({ room: 1, maxOutboundBytes: 100 });
    const states = [view()];
    for (const length of [1, 1, 200]) {
      send(answer(1, 'x'.repeat(length)));
      await settled();
      states.push(view());
    }
    drain();
    states.push(view());
    sink.events?.broken(new Error('EPIPE'));
    states.push(view());
    expect(states).toMatchObject(
      ['flowing', 'waiting', 'waiting', 'blocked', 'flowing', 'ended'].map((state) => ({ state })),
    );
  });

  test('can block again after flowing, and is reported again', async () => {
    const { send, drain, told } = startWriter({ room: 1, maxOutboundBytes: 10 });
    for (let i = 0; i < 3; i++) {
      send(answer(1));
      await settled();
      send(answer(2));
      await settled();
      drain(2);
    }
    expect(told()).toEqual(
      Array.from({ length: 3 }, () => ['output.blocked', 'output.flowing']).flat(),
    );
  });

  test('changes nothing if it drains with an empty queue', () => {
    const { drain, told, sink } = startWriter();
    drain();
    expect([told(), sink.writes, sink.flushes]).toEqual([[], [], []]);
  });
});

describe('a flush of the writer', () => {
  test('writes this turn first, then waits for the sink', () => {
    const { actor, send, sink, told, ids } = startWriter();
    send(answer(1));
    actor.send({ type: 'output.flush' });
    expect(ids()).toEqual([1]);
    expect(told()).toEqual([]);
    sink.flushes[0]?.();
    expect(told()).toEqual(['output.flushed']);
  });

  test('waits for the queue, and flushes the sink once', async () => {
    const { actor, send, drain, sink, ids } = startWriter({ room: 1 });
    send(answer(1));
    await settled();
    send(answer(2));
    await settled();
    actor.send({ type: 'output.flush' });
    expect(sink.flushes).toEqual([]);
    drain();
    expect(ids()).toEqual([1, 2]);
    expect(sink.flushes).toHaveLength(1);
    drain();
    drain();
    expect(sink.flushes).toHaveLength(1);
  });
});

describe('a broken sink', () => {
  test('is reported once, and gets no more output', async () => {
    const { send, sink, told, heard, errors } = startWriter();
    const error = new Error('EPIPE');
    sink.events?.broken(error);
    sink.events?.broken(error);
    send(answer(1));
    await settled();
    expect(sink.writes).toEqual([]);
    expect(told()).toEqual(['output.broken']);
    expect(heard.map(({ name }) => name)).toEqual(['output.broken']);
    expect(errors).toEqual([]);
  });

  test('gets no more output, even if it drains again', async () => {
    const { send, drain, sink } = startWriter();
    sink.events?.broken(new Error('EPIPE'));
    drain();
    send(answer(1));
    await settled();
    expect(sink.writes).toEqual([]);
  });

  test('stays broken if it breaks during a write', async () => {
    const { send, sink, told, view } = startWriter({ room: 1, maxOutboundBytes: 10 });
    sink.onWrite = () => sink.events?.broken(new Error('EPIPE'));
    for (const id of [1, 2, 3]) {
      send(answer(id));
      await settled();
    }
    expect(sink.writes).toHaveLength(1);
    expect(told()).toEqual(['output.broken']);
    expect(view()).toEqual({ state: 'ended', queuedBytes: 0 });
  });

  test('does not flow and is not flushed if it breaks while draining', async () => {
    const { actor, send, drain, sink, told } = startWriter({ room: 1, maxOutboundBytes: 10 });
    for (const id of [1, 2]) {
      send(answer(id));
      await settled();
    }
    actor.send({ type: 'output.flush' });
    sink.onWrite = () => sink.events?.broken(new Error('EPIPE'));
    drain();
    expect(told()).toEqual(['output.blocked', 'output.broken']);
    expect(sink.flushes).toEqual([]);
  });

  test('reports a flush as done at once', async () => {
    const { actor, send, sink, told } = startWriter();
    sink.events?.broken(new Error('EPIPE'));
    send(answer(1));
    actor.send({ type: 'output.flush' });
    await settled();
    expect([sink.writes, sink.flushes]).toEqual([[], []]);
    expect(told()).toEqual(['output.broken', 'output.flushed']);
  });

  test('keeps no queue', async () => {
    const { send, sink, view } = startWriter({ room: 1 });
    for (let i = 0; i < 3; i++) {
      send(answer(i));
      await settled();
    }
    sink.events?.broken(new Error('EPIPE'));
    send(answer(9));
    await settled();
    expect(view()).toEqual({ state: 'ended', queuedBytes: 0 });
  });
});

describe('output that is not JSON', () => {
  const own = { jsonrpc: '2.0', id: serverId('s-1'), method: 'm' } as const;
  const request = (params: object): OutboundFrame => ({ ...own, params });

  test('is rejected to its sender, and later frames are sent', async () => {
    const { actor, ids, heard } = startWriter();
    const rejected: unknown[] = [];
    const event: WriterEvent = {
      type: 'frames.send',
      frames: [request({ a: 1n }), answer(2)],
      reportTo: { send: (report) => void rejected.push('error' in report && report.error) },
    };
    actor.send(event);
    await settled();
    expect(rejected).toEqual([expect.any(TypeError)]);
    expect(ids()).toEqual([2]);
    expect(heard).toEqual([]);
  });

  test('becomes an internal error and a report if it is a response', async () => {
    const { send, sink, heard } = startWriter();
    send(answerOf(7, { a: 1n }));
    await settled();
    expect(JSON.parse(sink.writes.join(''))).toMatchObject({ id: 7, error: { code: -32603 } });
    expect(heard).toMatchObject([{ name: 'response.unserializable', level: 'error' }]);
  });

  test('is reported if it is a notification', async () => {
    const { send, sink, heard } = startWriter();
    send({ jsonrpc: '2.0', method: 'notifications/message', params: { a: 1n } });
    await settled();
    expect(sink.writes).toEqual([]);
    expect(heard).toHaveLength(1);
  });

  test.each([Object.create(null), { toString: () => 1n * (1 as never) }])(
    'affects no other message, even if its error has no text (%#)',
    async (thrown: unknown) => {
      const { send, errors, ids } = startWriter();
      const result = {
        toJSON: () => {
          throw thrown;
        },
      };
      send(answerOf(1, result), answer(2));
      await settled();
      expect(errors).toEqual([]);
      expect(ids()).toEqual([1, 2]);
    },
  );
});

describe('a repeated flush of the writer', () => {
  const flush = { type: 'output.flush' } as const;
  const flushOverdue = { ...flush, after: 'stallTimeout' } as const;

  test('reports a stall if nothing was written since the last one', async () => {
    const { actor, send, sink, told, heard } = startWriter({ room: 1 });
    send(answer(0));
    await settled();
    sink.untaken = 100;
    actor.send(flush);
    sink.untaken = 40;
    actor.send(flushOverdue);
    expect(told()).toEqual([]);
    // Queueing more output does not count as progress.
    send(answer(1));
    actor.send(flushOverdue);
    expect(told()).toEqual(['output.stalled']);
    expect(heard).toMatchObject([{ name: 'output.stalled', level: 'warning' }]);
  });

  test('keeps waiting if repeated before the stall timeout', async () => {
    const { actor, send, told } = startWriter({ room: 1 });
    send(answer(0), answer(1));
    await settled();
    actor.send(flush);
    actor.send(flush);
    expect(told()).toEqual([]);
  });

  test('is reported as done at once with an empty queue', () => {
    const { actor, sink, told } = startWriter();
    actor.send(flush);
    for (const done of sink.flushes) done();
    expect(told()).toEqual(['output.flushed']);
  });
});
