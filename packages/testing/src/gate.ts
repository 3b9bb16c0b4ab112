/** Blocks a handler until the test releases it, to force an order without sleeping. */

/** See {@link gate}. */
export interface Gate {
  /** Awaited by the handler. Rejects with the abort reason if the signal aborts first. */
  pass(signal?: AbortSignal): Promise<void>;
  /** Resolves when `count` handlers (default 1) have reached the gate. */
  arrived(count?: number): Promise<void>;
  /** Number of handlers that have reached the gate. */
  readonly arrivals: number;
  /** Releases `count` handlers in FIFO order. Default: all, now and later. */
  release(count?: number): void;
}

/** Creates a closed gate. */
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
