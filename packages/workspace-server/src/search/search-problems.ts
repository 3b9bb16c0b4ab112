/** Bounded list of paths a search could not read, which counts the rest. */

/** Number of listed problems. */
const maxListed = 20;

export class SearchProblems {
  /** Without duplicates. */
  readonly #listed = new Set<string>();
  #others = 0;

  /** Adds a problem as a readable sentence. */
  add(problem: string): void {
    if (this.#listed.has(problem)) return;
    if (this.#listed.size < maxListed) this.#listed.add(problem);
    else this.#others += 1;
  }

  /** Returns the listed problems and the number of others. */
  list(): string[] {
    const others = this.#others === 0 ? [] : [`and ${this.#others} more`];
    return [...this.#listed, ...others];
  }
}
