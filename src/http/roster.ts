/**
 * What is added and leaves all the time, such as answers that are due: a list whose last member
 * takes the place of one that leaves. The outgrown tables of a set would keep answers in memory that
 * ended long ago, and each addition to it costs more (docs/performance.md).
 */

/** What may be in one roster. */
export interface Listed {
  /** Where it stands; only the roster sets it. {@link unlisted} at first. */
  place: number;
}

/** The place of what is in no roster. */
export const unlisted = -1;

export class Roster<T extends Listed> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** A copy, in no order. */
  get all(): readonly T[] {
    return [...this.#members];
  }

  /** Does nothing if it is in it already. */
  add(member: T): void {
    if (member.place === unlisted) member.place = this.#members.push(member) - 1;
  }

  /** Does nothing if it is not in it. */
  delete(member: T): void {
    const { place } = member;
    if (place === unlisted) return;
    member.place = unlisted;
    const last = this.#members.pop();
    if (!last || last === member) return;
    this.#members[place] = last;
    last.place = place;
  }

  /**
   * Calls back for each. Any of them may leave meanwhile: from the last one on, whoever takes the
   * place of one that leaves has had its turn.
   */
  each(callback: (member: T) => void): void {
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at];
      if (member) callback(member);
    }
  }

  clear(): void {
    for (const member of this.#members.splice(0)) member.place = unlisted;
  }
}
