/**
 * Whether the computer has slept, or this process was stopped. Nobody tells it: connections look as they
 * did, and the other side may have given them up long ago.
 */
import type { Clock } from './clock.ts';

/** How often it is looked, milliseconds. */
export const sleepCheckMs = 5000;
/** A shorter sleep is passed over: connections outlive it. */
const shortestSleepMs = 60_000;
/** Within which time what was open before a sleep is opened anew, milliseconds. */
const scatteredMs = 2000;

/** A moment of that time. */
export const reconnectJitterMs = (): number => Math.random() * scatteredMs;

/**
 * Calls back after each sleep. Some systems stop the monotonic clock meanwhile, so that the time of day is
 * ahead of it; with others a timer comes much too late.
 *
 * @returns ends the watch
 */
export function watchSleep(clock: Clock, woke: () => void): () => void {
  let timer: unknown;
  const look = (): void => {
    const [now, day] = [clock.now(), Date.now()];
    timer = clock.setTimeout(() => {
      const sleptMs = Math.max(clock.now() - now, Date.now() - day) - sleepCheckMs;
      look();
      if (sleptMs >= shortestSleepMs) woke();
    }, sleepCheckMs);
  };
  look();
  return () => clock.clearTimeout(timer);
}
