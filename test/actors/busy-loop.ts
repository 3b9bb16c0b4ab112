/** Work that holds the event loop, and how often the loop turns meanwhile. */
import { onTestFinished } from 'vitest';

/** Holds the event loop for at least so many milliseconds. */
export function workFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Counts the turns of the event loop until the test is over. */
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
