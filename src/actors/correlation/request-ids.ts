/** The ids of our requests to one peer, and how they are read back. */
import type { OutboundRequestId } from '../../protocol/frames.ts';

/**
 * The ids of our requests to one peer. None is given twice.
 *
 * A server's are `s-<n>-<uuid>`: counted, with a random end that is the session's. A host's are
 * integers, counted over all channels of its connection: what every widespread client sends, and
 * what weak servers are made for. An id is read back to its number, so that nothing needs to be kept
 * by its text (docs/decisions/05-one-core-two-sides.md).
 */
export class RequestIds {
  readonly #form: 'integers' | (() => string);
  /** Made with the first id: the platform loads its cryptography for it. */
  #end: string | undefined;
  #given = 0;

  /** @param form `integers`, or what makes an unguessable end */
  constructor(form: 'integers' | (() => string) = () => crypto.randomUUID()) {
    this.#form = form;
  }

  /** True once a request was given an id. */
  get isUsed(): boolean {
    return this.#given > 0;
  }

  /** The number of the next request. */
  next(): number {
    return ++this.#given;
  }

  /** The id of a request with that number. */
  of(number: number): OutboundRequestId {
    if (this.#form === 'integers') return number as OutboundRequestId;
    this.#end ??= `-${this.#form()}`;
    return `s-${number}${this.#end}` as OutboundRequestId;
  }

  /**
   * The number of one of our requests, pending or not; undefined for anything that is not exactly the
   * id of one: `"1"` is not `1`.
   */
  read(id: unknown): number | undefined {
    if (this.#form === 'integers') {
      return typeof id === 'number' && this.#isGiven(id) ? id : undefined;
    }
    const end = this.#end;
    if (typeof id !== 'string' || end === undefined || !id.endsWith(end)) return undefined;
    const digits = id.slice(2, -end.length);
    const number = Number(digits);
    // `s-01-…` and `s-1e0-…` are numbers too, but no ids.
    const isOurs = this.#isGiven(number) && id.startsWith('s-') && String(number) === digits;
    return isOurs ? number : undefined;
  }

  /** The number that an id of the wrong type means: some servers send an integer back as a string. */
  readText(id: unknown): number | undefined {
    const isText = this.#form === 'integers' && typeof id === 'string';
    return isText && String(Number(id)) === id && this.#isGiven(Number(id))
      ? Number(id)
      : undefined;
  }

  #isGiven(number: number): boolean {
    return number >= 1 && number <= this.#given && Number.isInteger(number);
  }
}
