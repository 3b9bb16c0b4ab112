/** Staggered timeout for starting many servers, so that a slow one does not delay the others. */
import type { Clock } from '../../../src/actors/clock.ts';

/** Options of the timeout. */
export interface StaggeredTimeout {
  readonly clock: Clock;
  /**
   * Timeout for the first server, milliseconds. After each one that settles, the next has a sixth of it: a server that
   * takes much longer than the rest is late.
   */
  readonly patienceMs: number;
}

/** Divisor of the timeout between two servers. */
const pauses = 6;

/**
 * Waits for promises; the results of late and failed ones are undefined.
 *
 * @param late called with each late result
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
        // A failed server reports its error in its state.
      }
    });
    void Promise.all(all).then(end);
  });
}
