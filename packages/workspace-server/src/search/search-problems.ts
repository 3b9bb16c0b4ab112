/** What a search could not look at, as a list of bounded length that says how much it leaves out. */

/** What a list holds; the rest is counted. */
const maxListed = 20;

export class SearchProblems {
  /** Each once. */
  readonly #listed = new Set<string>();
  #others = 0;

  /** Notes a problem: one sentence for a person. */
  add(problem: string): void {
    if (this.#listed.has(problem)) return;
    if (this.#listed.size < maxListed) this.#listed.add(problem);
    else this.#others += 1;
  }

  /** The first of them and, if there are more, how many. */
  list(): string[] {
    const others = this.#others === 0 ? [] : [`and ${this.#others} more, which are not listed`];
    return [...this.#listed, ...others];
  }
}
