/** The replay log of a session's streams. */
import { expect, test } from 'vitest';
import { StreamEventLog } from '../../src/legacy/event-log.ts';
import type { LoggedStream } from '../../src/legacy/event-log.ts';
import { TestClock } from '../../../testing/src/index.ts';

/** A log limited to three events, ten bytes and one second by default, and its reports. */
function startLog(limits: { readonly maxEvents?: number; readonly maxEventBytes?: number } = {}) {
  const clock = new TestClock();
  const lost: string[] = [];
  const bytes: number[] = [];
  const room = { bytes: Infinity };
  const log = new StreamEventLog(
    { maxEvents: 3, maxEventBytes: 10, eventTtlMs: 1000, ...limits },
    clock,
    {
      onLost: (count, reason) => void lost.push(`${count}: ${reason}`),
      retain: (count) => {
        if (count > room.bytes) return false;
        bytes.push(count);
        return true;
      },
    },
  );
  /** A stream whose events up to a number were sent. */
  const streamGiven = (given: number): LoggedStream => ({
    onEventDropped: (event) => event > given,
  });
  const kept = (stream: LoggedStream) => log.after(stream, 0).map(({ number }) => number);
  return { clock, log, lost, room, streamGiven, kept, counted: () => bytes.at(-1) };
}

test('keeps maxEvents and drops the oldest, whatever their stream', () => {
  const { log, lost, streamGiven, kept } = startLog();
  const [one, other] = [streamGiven(0), streamGiven(0)];
  log.add(one, 1, 'a');
  log.add(other, 1, 'b');
  log.add(one, 2, 'c');
  expect([kept(one), kept(other), lost]).toEqual([[1, 2], [1], []]);
  log.add(other, 2, 'd');
  log.add(other, 3, 'e');
  expect([kept(one), kept(other), log.size]).toEqual([[2], [2, 3], { events: 3, bytes: 3 }]);
  const why = "1: a session keeps at most 3 messages and 10 bytes, within its client's quota";
  expect(lost).toEqual([why, why]);
  expect(log.after(other, 2)).toMatchObject([{ number: 3, text: 'e' }]);
});

test('keeps maxEventBytes and drops an event that is larger alone', () => {
  const { log, lost, streamGiven, kept, counted } = startLog();
  const stream = streamGiven(0);
  log.add(stream, 1, '12345');
  log.add(stream, 2, '12345');
  expect([kept(stream), counted(), lost]).toEqual([[1, 2], 10, []]);
  log.add(stream, 3, '12345678901');
  expect([kept(stream), counted(), lost]).toEqual([[1, 2], 10, ['1: it is larger than 10 bytes']]);
  log.add(stream, 4, '1234567890');
  expect([kept(stream), counted(), log.size]).toEqual([[4], 10, { events: 1, bytes: 10 }]);
});

test("keeps no more than the client's quota allows", () => {
  const { log, room, streamGiven, kept, counted } = startLog();
  const stream = streamGiven(0);
  log.add(stream, 1, '1234');
  room.bytes = 5;
  log.add(stream, 2, '12');
  expect([kept(stream), counted()]).toEqual([[2], 2]);
  // Without any quota nothing is logged or counted.
  room.bytes = 0;
  log.add(stream, 3, '1');
  expect([log.isEmpty, counted()]).toEqual([true, 0]);
});

test('keeps each event for eventTtlMs, including its age at another process', () => {
  const { clock, log, lost, streamGiven, kept, counted } = startLog();
  const stream = streamGiven(0);
  log.add(stream, 1, 'a', 600);
  log.add(stream, 2, 'b');
  clock.increment(399);
  expect(kept(stream)).toEqual([1, 2]);
  clock.increment(1);
  // Expired events are not returned, even before a trim.
  expect([kept(stream), counted(), log.size]).toEqual([[2], 1, { events: 1, bytes: 1 }]);
  clock.increment(600);
  log.trim();
  expect([log.isEmpty, counted()]).toEqual([true, 0]);
  expect(lost).toEqual(['1: they expired after 1000 ms', '1: they expired after 1000 ms']);
});

test('reports only events that were never sent', () => {
  const { clock, log, lost, streamGiven } = startLog({ maxEvents: 2 });
  const stream = streamGiven(2);
  for (const number of [1, 2, 3]) log.add(stream, number, 'a');
  expect(lost).toEqual([]);
  clock.increment(1000);
  log.trim();
  expect(lost).toEqual(['1: they expired after 1000 ms']);
  log.add(stream, 2, '12345678901');
  expect(lost).toHaveLength(1);
});
