/** What is known of a line that is too long to be kept: whose answer it is, if it says so. */
import { tooLong } from '../../protocol/codec.ts';
import type { InvalidFrame, OutboundRequestId } from '../../protocol/frames.ts';
import {
  namedAtBeginning,
  namedAtEnd,
  namingLength as keptBytes,
} from '../../protocol/named-answers.ts';

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
    const named = namedAtBeginning(this.#beginning);
    return named === 'later' ? undefined : this.#frame(named);
  }

  /** What the line is known by at its end. */
  get late(): InvalidFrame {
    return this.#frame(namedAtEnd(decoder.decode(this.#end)));
  }

  skip(piece: Uint8Array): void {
    const before = piece.length < keptBytes ? this.#end : new Uint8Array();
    const kept = piece.subarray(-keptBytes);
    const whole = new Uint8Array(before.length + kept.length);
    whole.set(before);
    whole.set(kept, before.length);
    this.#end = whole.slice(-keptBytes);
  }

  #frame(answers: OutboundRequestId | undefined): InvalidFrame {
    const error = tooLong(this.#maxLineBytes);
    return answers === undefined ? { kind: 'invalid', error } : { kind: 'invalid', error, answers };
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
