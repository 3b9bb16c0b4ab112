import type { OutboundRequestId } from '../../protocol/frames.ts';

/**
 * The ids of a session's requests to the peer: `s-<n>-<uuid>`, counted, with a random end that is
 * the session's.
 *
 * An id is read back to its number, so that nothing needs to be kept by its text
 * (docs/decisions/0018-ids-of-requests.md).
 */
export class RequestIds {
  readonly #randomId: () => string;
  /** Made with the first id: the platform loads its cryptography for it. */
  #end: string | undefined;
  #given = 0;

  /** @param randomId makes what nobody can guess */
  constructor(randomId: () => string = () => crypto.randomUUID()) {
    this.#randomId = randomId;
  }

  /** The number of the next request. */
  next(): number {
    return ++this.#given;
  }

  /** The id of a request with that number. */
  of(number: number): OutboundRequestId & string {
    this.#end ??= `-${this.#randomId()}`;
    return `s-${number}${this.#end}` as OutboundRequestId & string;
  }

  /**
   * The number of a request of ours, pending or not; undefined for anything that is not exactly the
   * id of one.
   */
  read(id: unknown): number | undefined {
    const end = this.#end;
    if (typeof id !== 'string' || end === undefined || !id.endsWith(end)) return undefined;
    const digits = id.slice(2, -end.length);
    const number = Number(digits);
    const isOurs = number >= 1 && number <= this.#given && Number.isInteger(number);
    // `s-01-…` and `s-1e0-…` are numbers too, but no ids.
    return isOurs && id.startsWith('s-') && String(number) === digits ? number : undefined;
  }
}
