/** What a session has done and nobody has asked for yet. */

export class Arrivals<T> {
  readonly #arrived: T[] = [];
  readonly #patienceMs: number;
  #wake: () => void = () => {};

  /** @param patienceMs how long something that is due may take, real milliseconds */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  add(item: T): void {
    this.#arrived.push(item);
    this.#wake();
  }

  /** The oldest. */
  get first(): T | undefined {
    return this.#arrived[0];
  }

  /** The first that matches, as soon as there is one; undefined where none comes in time. */
  async take(matches: (item: T) => boolean): Promise<T | undefined> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      const at = this.#arrived.findIndex(matches);
      if (at !== -1) return this.#arrived.splice(at, 1)[0];
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return undefined;
      await this.#change(leftMs);
    }
  }

  #change(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
