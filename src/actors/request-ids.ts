/**
 * The ids of a session's requests to the client: `s-<n>-<uuid>`, counted, with a random end that is the session's.
 *
 * An id is read back to its number, so that nothing needs to be kept by its text (docs/decisions/0019-ids-of-requests.md).
 */
export class RequestIds {
  readonly #end = `-${crypto.randomUUID()}`;
  #given = 0;

  /** The number of the next request. */
  next(): number {
    return ++this.#given;
  }

  /** The id of a request with that number. */
  of(number: number): string {
    return `s-${number}${this.#end}`;
  }

  /** The number of a request of ours, pending or not; undefined for anything that is not exactly the id of one. */
  read(id: unknown): number | undefined {
    if (typeof id !== 'string' || !id.endsWith(this.#end)) return undefined;
    const digits = id.slice(2, -this.#end.length);
    const number = Number(digits);
    const isOurs = number >= 1 && number <= this.#given && Number.isInteger(number);
    // `s-01-…` and `s-1e0-…` are numbers too, but no ids.
    return isOurs && id.startsWith('s-') && String(number) === digits ? number : undefined;
  }
}
