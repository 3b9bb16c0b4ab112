/** Holds a handler open until a test lets it go on: how the order of things is forced instead of slept for. */

/** See {@link gate}. */
export interface Gate {
  /** What the handler awaits. Rejects with the signal's reason when that fires first. */
  pass(signal?: AbortSignal): Promise<void>;
  /** Resolves once so many have come to the gate in all, whether or not they have passed. */
  arrived(count?: number): Promise<void>;
  /** How many have come so far. */
  readonly arrivals: number;
  /** Lets so many pass, first come first served; all that ever come, where no number is given. */
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
