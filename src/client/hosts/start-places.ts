/** So many may start at once. Whoever comes later waits for a place, in the order of coming. */
export class StartPlaces {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** @param places how many may start at once */
  constructor(places: number) {
    this.#free = places;
  }

  /** Calls back with what gives the place back, as soon as there is one; at once if there is. */
  take(start: (release: () => void) => void): void {
    if (this.#free === 0) {
      this.#waiting.push(() => this.take(start));
      return;
    }
    this.#free--;
    let release = (): void => {
      release = () => {};
      this.#free++;
      this.#waiting.shift()?.();
    };
    start(() => release());
  }
}
