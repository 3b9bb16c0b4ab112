/**
 * What is known of a line that is too long to be kept: whose answer it is, if its beginning or its
 * end says so. Servers put the id before a result or behind it.
 */
import { tooLong } from '../../protocol/codec.ts';
import type { InvalidFrame, OutboundRequestId } from '../../protocol/frames.ts';

/** So many bytes of the line are looked at, at either end. */
const keptBytes = 256;

const id = String.raw`(?<id>-?\d{1,16}|"(?:[^"\\]|\\.)*")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*,\s*`;
const answer = String.raw`"(?:result|error)"\s*:`;
const idFirst = new RegExp(
  String.raw`^\uFEFF?\s*\{\s*(?:${version})?"id"\s*:\s*${id}\s*,\s*(?:${version})?${answer}`,
);
const idLater = new RegExp(String.raw`^\uFEFF?\s*\{\s*(?:${version})?${answer}`);
/** Text in a string has its quotes escaped, so this is a member of the line's own object. */
const idLast = new RegExp(
  String.raw`,\s*"id"\s*:\s*${id}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`,
);

/** Cut characters at either end become others; nothing is read from those. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class SkippedLine {
  readonly #maxLineBytes: number;
  readonly #beginning: string;
  #end: Uint8Array = new Uint8Array();

  /** @param pieces of the line, up to the one that was too much */
  constructor(maxLineBytes: number, pieces: readonly Uint8Array[]) {
    this.#maxLineBytes = maxLineBytes;
    this.#beginning = decoder.decode(beginningOf(pieces));
    for (const piece of pieces) this.skip(piece);
  }

  /** What the line is known by before its end; undefined if its end may say more. */
  get early(): InvalidFrame | undefined {
    const found = idFirst.exec(this.#beginning);
    if (found) return this.#frame(found);
    return idLater.test(this.#beginning) ? undefined : this.#frame(null);
  }

  /** What the line is known by at its end. */
  get late(): InvalidFrame {
    return this.#frame(idLast.exec(decoder.decode(this.#end)));
  }

  skip(piece: Uint8Array): void {
    const before = piece.length < keptBytes ? this.#end : new Uint8Array();
    const kept = piece.subarray(-keptBytes);
    const whole = new Uint8Array(before.length + kept.length);
    whole.set(before);
    whole.set(kept, before.length);
    this.#end = whole.slice(-keptBytes);
  }

  #frame(found: RegExpExecArray | null): InvalidFrame {
    const error = tooLong(this.#maxLineBytes);
    const text = found?.groups?.['id'];
    if (text === undefined) return { kind: 'invalid', error };
    return { kind: 'invalid', error, answers: JSON.parse(text) as OutboundRequestId };
  }
}

function beginningOf(pieces: readonly Uint8Array[]): Uint8Array {
  const beginning = new Uint8Array(keptBytes);
  let at = 0;
  for (const piece of pieces) {
    const part = piece.subarray(0, keptBytes - at);
    beginning.set(part, at);
    at += part.length;
  }
  return beginning.subarray(0, at);
}
