/**
 * Splits bytes into lines at 0x0A. Whole lines are decoded at once, so a character split across
 * chunks stays intact, and U+2028 does not end a line. Runs in linear time: the pieces of a long
 * line are joined once, at its end.
 *
 * @see MCP 2025-11-25, basic/transports, "stdio"
 */
import { parseError, tooLong, unreadableLine } from '../../protocol/codec.ts';
import type { InvalidFrame, OutboundRequestId } from '../../protocol/frames.ts';
import {
  leadingAnswerId,
  trailingAnswerId,
  idSearchLength as searchedBytes,
} from '../../protocol/answered-ids.ts';

/** A line of text, or the error for an unreadable one. */
export type Line = string | InvalidFrame;

const lineFeed = 0x0a;
const byteOrderMark = 0xfeff;

const notUtf8 = parseError('the line is not valid UTF-8');

/** Stateless between lines, so all sessions share it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class LineSplitter {
  readonly #maxLineBytes: number;
  /** Pieces of the unfinished line. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  /**
   * Treatment of the bytes up to the next line feed. A line that is too long is skipped; until its
   * request id is known, its end is searched for one.
   */
  #state: 'keeping' | 'skipping' | SkippedLine = 'keeping';

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The non-blank lines that end in this chunk. References the chunk's unfinished rest. */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    const last = chunk.lastIndexOf(lineFeed);
    if (last === -1) {
      this.#addPiece(chunk, lines);
      return lines;
    }
    let start = 0;
    if (this.#pieceBytes > 0) {
      start = chunk.indexOf(lineFeed) + 1;
      this.#addPiece(chunk.subarray(0, start - 1), lines);
      this.#endLine(lines);
    }
    if (last >= start) this.#addBlock(chunk.subarray(start, last), lines);
    if (last + 1 < chunk.length) this.#addPiece(chunk.subarray(last + 1), lines);
    return lines;
  }

  /** Ends the input. Text after the last line feed counts as a line. */
  end(): Line[] {
    const lines: Line[] = [];
    if (this.#pieceBytes > 0) this.#endLine(lines);
    return lines;
  }

  /** Adds whole lines (without the last line feed), decoding them in one go. */
  #addBlock(block: Uint8Array, lines: Line[]): void {
    if (block.length > this.#maxLineBytes) return this.#addEach(block, lines);
    const text = this.#decode(block);
    if (text === undefined) return this.#addEach(block, lines);
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      addLine(text.slice(start, end), lines);
      start = end + 1;
    }
    addLine(start === 0 ? text : text.slice(start), lines);
  }

  /** Slow path: one of the lines is too long or not UTF-8, and only that one is rejected. */
  #addEach(block: Uint8Array, lines: Line[]): void {
    for (let start = 0; start <= block.length;) {
      const found = block.indexOf(lineFeed, start);
      const end = found === -1 ? block.length : found;
      this.#addPiece(block.subarray(start, end), lines);
      this.#endLine(lines);
      start = end + 1;
    }
  }

  #addPiece(piece: Uint8Array, lines: Line[]): void {
    this.#pieceBytes += piece.length;
    if (this.#state === 'skipping') return;
    if (this.#state !== 'keeping') return this.#state.skip(piece);
    if (this.#pieceBytes <= this.#maxLineBytes) {
      addPiece(piece, this.#pieces);
      return;
    }
    const skipped = new SkippedLine(this.#maxLineBytes, [...this.#pieces, piece]);
    const { early } = skipped;
    if (early) lines.push(early);
    this.#pieces = [];
    this.#state = early ? 'skipping' : skipped;
  }

  #endLine(lines: Line[]): void {
    if (this.#state === 'keeping') {
      const line = concat(this.#pieces, this.#pieceBytes);
      const text = this.#decode(line);
      if (text === undefined) lines.push(unreadableLine(notUtf8, looseDecoder.decode(line)));
      else addLine(text, lines);
    } else if (this.#state !== 'skipping') {
      lines.push(this.#state.late);
    }
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#state = 'keeping';
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

/**
 * Adds a line without its byte order mark, unless it is blank. JSON treats a trailing carriage
 * return as white space.
 */
function addLine(line: string, lines: Line[]): void {
  const text = line.charCodeAt(0) === byteOrderMark ? line.slice(1) : line;
  // Only a line that does not start with a brace can be blank.
  if (text.charCodeAt(0) > 0x20 || !/^[ \t\r]*$/.test(text)) lines.push(text);
}

/** Smaller pieces are merged, lest a line received byte by byte cost an object per byte. */
const smallPiece = 16 * 1024;

/**
 * Adds a piece. Small pieces are merged with others of similar size, so each byte is copied only a
 * few times.
 */
function addPiece(piece: Uint8Array, pieces: Uint8Array[]): void {
  let last = piece;
  for (let before = pieces.at(-1); before; before = pieces.at(-1)) {
    if (last.length >= smallPiece || before.length >= smallPiece) break;
    if (before.length > 2 * last.length) break;
    pieces.pop();
    last = concat([before, last], before.length + last.length);
  }
  pieces.push(last);
}

function concat(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Non-fatal decoder: characters cut at either end are replaced, which cannot affect ids. */
const looseDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A line too long to keep, whose beginning and end may name the request it answers. */
class SkippedLine {
  readonly #maxLineBytes: number;
  readonly #beginning: string;
  #end: Uint8Array = new Uint8Array();

  /** @param pieces the pieces of the line up to the one that exceeded the limit */
  constructor(maxLineBytes: number, pieces: readonly Uint8Array[]) {
    this.#maxLineBytes = maxLineBytes;
    this.#beginning = looseDecoder.decode(leadingBytes(pieces));
    for (const piece of pieces) this.skip(piece);
  }

  /**
   * The error for the line, if its beginning settles which request it answers; undefined if the end
   * may name it.
   */
  get early(): InvalidFrame | undefined {
    const named = leadingAnswerId(this.#beginning);
    return named === 'later' ? undefined : this.#frame(named);
  }

  /** The error for the line, once its end has been read. */
  get late(): InvalidFrame {
    return this.#frame(trailingAnswerId(looseDecoder.decode(this.#end)));
  }

  skip(piece: Uint8Array): void {
    const before = piece.length < searchedBytes ? this.#end : new Uint8Array();
    const kept = piece.subarray(-searchedBytes);
    const whole = new Uint8Array(before.length + kept.length);
    whole.set(before);
    whole.set(kept, before.length);
    this.#end = whole.slice(-searchedBytes);
  }

  #frame(answers: OutboundRequestId | undefined): InvalidFrame {
    const error = tooLong(this.#maxLineBytes);
    return answers === undefined
      ? { kind: 'invalid', error }
      : { kind: 'invalid', error, answers: [answers] };
  }
}

function leadingBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const beginning = new Uint8Array(searchedBytes);
  let at = 0;
  for (const piece of pieces) {
    const part = piece.subarray(0, searchedBytes - at);
    beginning.set(part, at);
    at += part.length;
  }
  return beginning.subarray(0, at);
}
