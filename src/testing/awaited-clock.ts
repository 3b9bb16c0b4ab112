/**
 * A session's timers keep no process alive. While a test waits with the kit, they do: node:test and
 * plain scripts would end before a keepalive or a deadline has come. A session that a test forgets
 * still keeps no process, and what no timer can bring any more ends the process at once, with Node's
 * own message.
 */
import { heldProcess, systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';

let waiting = 0;
const timers = new Set<unknown>();
let release: (() => void) | undefined;

function update(): void {
  if (waiting > 0 && timers.size > 0) {
    release ??= heldProcess();
  } else {
    release?.();
    release = undefined;
  }
}

/** Marks what a test waits for, until it settles. */
export function awaited<T>(promise: Promise<T>): Promise<T> {
  waiting++;
  update();
  const settled = () => {
    waiting--;
    update();
  };
  promise.then(settled, settled);
  return promise;
}

/** The real clock, for sessions under test. */
export const awaitedClock: Clock = {
  now: systemClock.now,
  setTimeout: (callback, delayMs) => {
    const timer = systemClock.setTimeout(() => {
      timers.delete(timer);
      update();
      callback();
    }, delayMs);
    timers.add(timer);
    update();
    return timer;
  },
  clearTimeout: (timer) => {
    systemClock.clearTimeout(timer);
    timers.delete(timer);
    update();
  },
};
