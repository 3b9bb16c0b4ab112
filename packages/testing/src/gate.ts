/**
 * Holds a handler open until the test lets it go on: a test forces an order instead of sleeping.
 */

/** See {@link gate}. */
export interface Gate {
  /** The handler awaits this. Rejects with the signal's reason if the signal fires first. */
  pass(signal?: AbortSignal): Promise<void>;
  /** Resolves once `count` handlers (1) have come to the gate, whether or not they have passed. */
  arrived(count?: number): Promise<void>;
  /** How many handlers have come so far. */
  readonly arrivals: number;
  /** Lets `count` handlers pass, first come first served; by default all, now and later. */
  release(count?: number): void;
}

/** A closed gate. */
export function gate(): Gate {
  const held: (() => void)[] = [];
  const arrivalWaiters = new Set<{ readonly count: number; readonly resolve: () => void }>();
  let arrivals = 0;
  let permits = 0;

  return {
    pass: (signal) =>
      new Promise((resolve, reject) => {
        arrivals++;
        for (const waiter of arrivalWaiters) {
          if (arrivals < waiter.count) continue;
          arrivalWaiters.delete(waiter);
          waiter.resolve();
        }
        if (permits > 0) {
          permits--;
          return resolve();
        }
        const abort = () => {
          held.splice(held.indexOf(go), 1);
          reject(signal?.reason as Error);
        };
        const go = () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        };
        held.push(go);
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort);
      }),
    arrived: (count = 1) =>
      new Promise((resolve) => {
        if (arrivals >= count) resolve();
        else arrivalWaiters.add({ count, resolve });
      }),
    get arrivals() {
      return arrivals;
    },
    release: (count = Infinity) => {
      const passing = held.splice(0, Math.min(count, held.length));
      permits += count - passing.length;
      for (const go of passing) go();
    },
  };
}
