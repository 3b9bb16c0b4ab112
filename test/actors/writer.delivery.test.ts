import { describe, expect, test } from 'vitest';
import { answerOf } from './ids.ts';
import { settled } from './fakes.ts';
import { startWriter } from './start-writer.ts';

const answer = (id: number, text = '') => answerOf(id, { text });

describe('a delivery report of the writer', () => {
  test('is sent at the end of the turn if the sink accepts the message', async () => {
    const { awaitTaken, awaited } = startWriter();
    awaitTaken('a');
    awaitTaken('b');
    expect(awaited).toEqual([]);
    await settled();
    expect(awaited).toEqual(['a', 'b']);
  });

  test('is sent only when a queued message is written', async () => {
    const { awaitTaken, awaited, send, drain, sink } = startWriter({ room: 1 });
    send(answer(0));
    await settled();
    awaitTaken('a');
    await settled();
    // Too long to be merged with the queued text.
    send(answer(1, 'x'.repeat(100_000)));
    await settled();
    awaitTaken('b');
    await settled();
    expect([awaited, sink.writes.length]).toEqual([[], 1]);
    drain(1);
    expect(awaited).toEqual(['a']);
    drain();
    expect(awaited).toEqual(['a', 'b']);
  });

  test('is sent for a message that fills the sink', async () => {
    const { awaitTaken, awaited } = startWriter({ room: 1 });
    awaitTaken('a');
    await settled();
    expect(awaited).toEqual(['a']);
  });

  test('is never sent if the message is not JSON or the output breaks first', async () => {
    const { awaitTaken, awaited, sink, drain } = startWriter({ room: 1 });
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    awaitTaken('cyclic', cycle);
    awaitTaken('a');
    await settled();
    awaitTaken('b');
    await settled();
    sink.events?.broken(new Error('EPIPE'));
    drain();
    awaitTaken('c');
    await settled();
    expect(awaited).toEqual(['cyclic rejected', 'a']);
  });
});
