/** How many searches run at once in this process: each costs memory and threads of its own, whatever session it belongs to. */

export interface Turns {
  /**
   * Waits for a turn, first come, first served; gives the function that ends it.
   *
   * @throws the signal's reason, if it fires while waiting
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Makes turns of which at most `most` are taken at once. */
export function turns(most: number): Turns {
  const waiting = new Set<() => void>();
  let taken = 0;
  const end = (): void => {
    taken -= 1;
    const [next] = waiting;
    next?.();
  };
  const begin = (): (() => void) => {
    taken += 1;
    return end;
  };
  return {
    async take(signal) {
      signal.throwIfAborted();
      if (taken < most) return begin();
      return await new Promise<() => void>((resolve, reject) => {
        const leave = (): void => {
          waiting.delete(enter);
          signal.removeEventListener('abort', give);
        };
        const enter = (): void => {
          leave();
          resolve(begin());
        };
        const give = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        waiting.add(enter);
        signal.addEventListener('abort', give);
      });
    },
  };
}
