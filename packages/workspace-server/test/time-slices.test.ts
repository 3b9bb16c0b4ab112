import { expect, test } from 'vitest';
import { isSliceOver, nextSlice } from '../src/globs/time-slices.ts';
import { countTurns, workFor } from '../../../test/actors/busy-loop.ts';

const never = new AbortController().signal;

test('all workers share one time slice per event loop turn', async () => {
  const turns = countTurns();
  const stepsOfTurn = new Map<number, number>();
  const work = async () => {
    for (let step = 0; step < 10; step += 1) {
      if (isSliceOver()) await nextSlice(never);
      workFor(1);
      stepsOfTurn.set(turns.now(), (stepsOfTurn.get(turns.now()) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  // Five milliseconds, plus the step that exceeds them.
  expect(Math.max(...stepsOfTurn.values())).toBeLessThanOrEqual(6);
});

test('nextSlice rejects with the reason of an aborted signal', async () => {
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const slice = nextSlice(controller.signal);
  controller.abort(reason);
  await expect(slice).rejects.toBe(reason);
});

test('isSliceOver is true once the slice has elapsed', async () => {
  await nextSlice(never);
  workFor(6);
  expect(isSliceOver()).toBe(true);
});
