/** A queue of received items that tests await. */
import { awaited } from './clock.ts';

interface PendingTake<T> {
  readonly what: string;
  matches(item: T): boolean;
  resolve(item: T): void;
  reject(error: Error): void;
}

/**
 * Tests select items by content rather than position, so that they do not depend on the order of
 * independent events.
 */
export class Inbox<T> {
  /** All received items in order, including taken ones. */
  readonly all: readonly T[];
  readonly #all: T[] = [];
  readonly #untaken = new Set<{ readonly item: T }>();
  readonly #waiters = new Set<PendingTake<T>>();
  #closed: string | undefined;

  constructor() {
    this.all = this.#all;
  }

  add(item: T): void {
    this.#all.push(item);
    for (const waiter of this.#waiters) {
      if (!waiter.matches(item)) continue;
      this.#waiters.delete(waiter);
      return waiter.resolve(item);
    }
    this.#untaken.add({ item });
  }

  /**
   * Takes the first matching item, or waits for it. Each item is taken once.
   *
   * @param what description for the error
   * @throws {Error} if the inbox closes without a match
   */
  take<S extends T>(what: string, matches: (item: T) => item is S): Promise<S> {
    for (const entry of this.#untaken) {
      const { item } = entry;
      if (!matches(item)) continue;
      this.#untaken.delete(entry);
      return Promise.resolve(item);
    }
    if (this.#closed !== undefined) return Promise.reject(this.#missing(what, this.#closed));
    const taken = new Promise<S>((resolve, reject) => {
      this.#waiters.add({ what, matches, resolve: resolve as (item: T) => void, reject });
    });
    return awaited(taken);
  }

  /** Rejects pending and later `take` calls without a match, because nothing more will arrive. */
  close(reason: string): void {
    this.#closed ??= reason;
    for (const { what, reject } of this.#waiters) reject(this.#missing(what, this.#closed));
    this.#waiters.clear();
  }

  #missing(what: string, reason: string): Error {
    const arrived = this.#all.map((item) => JSON.stringify(item).slice(0, 200));
    return new Error(`No ${what} came: ${reason}. What came:\n${arrived.slice(-20).join('\n')}`);
  }
}
