/** Chance that comes out the same for the same seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Of its own, so that what one does has no influence on the others. */
  fork(): Chance {
    return new Chance(Math.floor(this.#next() * 2 ** 32));
  }

  /** An integer from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  happens(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<const T>(all: readonly [T, ...T[]]): T {
    return all[this.between(0, all.length - 1)] ?? all[0];
  }

  shuffled<T>(all: readonly T[]): T[] {
    const left = [...all];
    const mixed: T[] = [];
    while (left.length > 0) mixed.push(...left.splice(this.between(0, left.length - 1), 1));
    return mixed;
  }

  /** Mulberry32: from 0 to below 1. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
