/** Blocks the event loop, and counts its turns. */
import { onTestFinished } from 'vitest';

/** Blocks the event loop for at least this many milliseconds. */
export function workFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Counts turns of the event loop until the test ends. */
export function countTurns(): { now(): number } {
  let turns = 0;
  let next = setImmediate(turn);
  function turn(): void {
    turns += 1;
    next = setImmediate(turn);
  }
  onTestFinished(() => clearImmediate(next));
  return { now: () => turns };
}
