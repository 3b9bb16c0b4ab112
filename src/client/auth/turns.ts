/** Work that is done one at a time for each key, in the order in which it was asked for. */

/** Resolves with the promise; rejects with the signal's reason if that is aborted first. */
export async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return await promise;
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Takes turns within one process. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /**
   * Runs the work when nobody else's for this key runs.
   *
   * @throws what the work throws, or the reason of the abort if it has not begun by then
   */
  async take<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // Who gives up leaves its place to the next, not before it is its turn.
    const mine = before.then(() => ended);
    this.#last.set(key, mine);
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      end();
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
