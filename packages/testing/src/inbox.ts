/** Items that have arrived, and the tests that wait for one. */
import { awaited } from './clock.ts';

interface PendingTake<T> {
  readonly what: string;
  matches(item: T): boolean;
  resolve(item: T): void;
  reject(error: Error): void;
}

/**
 * A test takes an item by what it is, never by its position, so that it does not depend on the
 * order of independent events.
 */
export class Inbox<T> {
  /** Everything that has arrived, taken or not, in order. */
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
   * Takes the first item that matches, or waits for it. Each item is taken once.
   * @param what for the error's message
   * @throws {Error} nothing matched before the inbox closed
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

  /** Nothing more will arrive: a pending or later `take` that nothing matches rejects. */
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
