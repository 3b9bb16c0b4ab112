import { expect, test } from 'vitest';
import { TestClock } from 'mcp-actors/testing';
import { settledInTime } from '../src/staggered-timeout.ts';

/** Lets what has settled be heard. */
const heard = () => new Promise((resolve) => setImmediate(resolve));

function waiting(count: number) {
  const clock = new TestClock();
  const settle: ((value: string) => void)[] = [];
  const fail: ((error: Error) => void)[] = [];
  const late: string[] = [];
  const asked = Array.from(
    { length: count },
    () =>
      new Promise<string>((resolve, reject) => {
        settle.push(resolve);
        fail.push(reject);
      }),
  );
  let found: readonly (string | undefined)[] | undefined;
  const over = settledInTime(asked, { clock, patienceMs: 600 }, (at, value) =>
    late.push(`${at} ${value}`),
  ).then((value) => (found = value));
  return { clock, settle, fail, late, over, found: () => found };
}

test('waits for all results if none is much later than the rest', async () => {
  const { clock, settle, fail, over, found } = waiting(3);
  clock.increment(599);
  settle[1]?.('b');
  await heard();
  clock.increment(99);
  settle[0]?.('a');
  await heard();
  clock.increment(99);
  expect(found()).toBeUndefined();
  fail[2]?.(new Error('it crashed'));
  expect(await over).toEqual(['a', 'b', undefined]);
});

test('reports a late result', async () => {
  const { clock, settle, late, over } = waiting(2);
  settle[0]?.('a');
  await heard();
  clock.increment(100);
  expect(await over).toEqual(['a', undefined]);
  settle[1]?.('b');
  await heard();
  expect(late).toEqual(['1 b']);
});

test('stops waiting without any result', async () => {
  const { clock, over } = waiting(2);
  clock.increment(600);
  expect(await over).toEqual([undefined, undefined]);
});

test('a failure does not shorten the wait for the others', async () => {
  const { clock, settle, fail, over, found } = waiting(2);
  fail[0]?.(new Error('it crashed'));
  await heard();
  clock.increment(500);
  await heard();
  expect(found()).toBeUndefined();
  settle[1]?.('b');
  expect(await over).toEqual([undefined, 'b']);
});
