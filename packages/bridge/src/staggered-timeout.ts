/** How long many servers are waited for together, so that a bad one does not hold the others up. */
import type { Clock } from '../../../src/actors/clock.ts';

/** How patient a bridge is with its servers. */
export interface StaggeredTimeout {
  readonly clock: Clock;
  /**
   * How long the first server is waited for, milliseconds. From then on, the others have a sixth of
   * it after each that comes: a server that takes much longer than the rest is late.
   */
  readonly patienceMs: number;
}

/** How much shorter a pause between two servers may be than the wait for the first. */
const pauses = 6;

/**
 * What these give, undefined for those that are late or fail.
 *
 * @param late called with what comes too late
 */
export function settledInTime<T>(
  asked: readonly Promise<T>[],
  { clock, patienceMs }: StaggeredTimeout,
  late: (at: number, value: T) => void = () => {},
): Promise<readonly (T | undefined)[]> {
  const found: (T | undefined)[] = asked.map(() => undefined);
  return new Promise((resolve) => {
    let take = (at: number, value: T): void => {
      found[at] = value;
      clock.clearTimeout(timer);
      timer = clock.setTimeout(end, patienceMs / pauses);
    };
    const end = (): void => {
      clock.clearTimeout(timer);
      take = late;
      resolve([...found]);
    };
    let timer = clock.setTimeout(end, patienceMs);
    const all = asked.map(async (each, at) => {
      try {
        const value = await each;
        take(at, value);
      } catch {
        // It is missing, and its state says why.
      }
    });
    void Promise.all(all).then(end);
  });
}
