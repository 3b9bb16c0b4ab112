/**
 * Detects that the computer has slept or the process was suspended. No event reports it:
 * connections look open, although the other side may have closed them long ago.
 */
import type { Clock } from './clock.ts';

/** Interval of the check, milliseconds. */
export const sleepCheckMs = 5000;
/** Shorter sleeps are ignored, since connections survive them, milliseconds. */
const shortestSleepMs = 60_000;
/** Connections are reopened within this time after a sleep, milliseconds. */
const maxJitterMs = 2000;

/** A random delay for reopening one connection, milliseconds. */
export const reconnectJitterMs = (): number => Math.random() * maxJitterMs;

/**
 * Calls back after each sleep. During sleep some systems stop the monotonic clock, so the wall
 * clock runs ahead of it; on others the timer fires much too late.
 *
 * @returns stops watching
 */
export function watchSleep(clock: Clock, woke: () => void): () => void {
  let timer: unknown;
  const check = (): void => {
    const [now, day] = [clock.now(), Date.now()];
    timer = clock.setTimeout(() => {
      const sleptMs = Math.max(clock.now() - now, Date.now() - day) - sleepCheckMs;
      check();
      if (sleptMs >= shortestSleepMs) woke();
    }, sleepCheckMs);
  };
  check();
  return () => clock.clearTimeout(timer);
}
