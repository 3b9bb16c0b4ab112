/**
 * Bytes to lines. Splits on 0x0A alone and decodes whole lines, so a character that is cut between
 * two chunks is never seen cut, and U+2028 does not end a line. Linear in the input: the pieces of
 * a long line are joined once, when its end is there.
 *
 * @see MCP 2025-11-25, basic/transports, "stdio"
 */
import { parseError, tooLong, unreadableLine } from '../../protocol/codec.ts';
import type { InvalidFrame, OutboundRequestId } from '../../protocol/frames.ts';
import {
  leadingAnswerId,
  trailingAnswerId,
  idSearchLength as keptBytes,
} from '../../protocol/answered-ids.ts';

/** A line of text, or what is wrong with it. */
export type Line = string | InvalidFrame;

const lineFeed = 0x0a;
const byteOrderMark = 0xfeff;

const notUtf8 = parseError('the line is not valid UTF-8');

/** Keeps nothing between two lines, so that one does for all sessions. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class LineSplitter {
  readonly #maxLineBytes: number;
  /** The beginning of a line whose end has not come. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  /**
   * What becomes of the bytes before the next line feed: they are skipped once the line is too
   * long. Until it has been told, its end may say whose answer it was.
   */
  #state: 'keeping' | 'skipping' | SkippedLine = 'keeping';

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /**
   * The lines that end in this chunk; empty ones are left out. Keeps a reference to the chunk's
   * unfinished rest.
   */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    const last = chunk.lastIndexOf(lineFeed);
    if (last === -1) {
      this.#takePiece(chunk, lines);
      return lines;
    }
    let start = 0;
    if (this.#pieceBytes > 0) {
      start = chunk.indexOf(lineFeed) + 1;
      this.#takePiece(chunk.subarray(0, start - 1), lines);
      this.#endLine(lines);
    }
    if (last >= start) this.#takeBlock(chunk.subarray(start, last), lines);
    if (last + 1 < chunk.length) this.#takePiece(chunk.subarray(last + 1), lines);
    return lines;
  }

  /** The end of the input: what comes after the last line feed is a line too. */
  end(): Line[] {
    const lines: Line[] = [];
    if (this.#pieceBytes > 0) this.#endLine(lines);
    return lines;
  }

  /** Takes whole lines without their last line feed, decoding them in one go. */
  #takeBlock(block: Uint8Array, lines: Line[]): void {
    if (block.length > this.#maxLineBytes) return this.#takeEach(block, lines);
    const text = this.#decode(block);
    if (text === undefined) return this.#takeEach(block, lines);
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      addLine(text.slice(start, end), lines);
      start = end + 1;
    }
    addLine(start === 0 ? text : text.slice(start), lines);
  }

  /**
   * The slow way: one of these lines is too long or no UTF-8, and only that one is to be refused.
   */
  #takeEach(block: Uint8Array, lines: Line[]): void {
    for (let start = 0; start <= block.length;) {
      const found = block.indexOf(lineFeed, start);
      const end = found === -1 ? block.length : found;
      this.#takePiece(block.subarray(start, end), lines);
      this.#endLine(lines);
      start = end + 1;
    }
  }

  #takePiece(piece: Uint8Array, lines: Line[]): void {
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
 * Adds a line without its byte order mark; it leaves blank ones out. A carriage return at the end
 * is white space to JSON.
 */
function addLine(line: string, lines: Line[]): void {
  const text = line.charCodeAt(0) === byteOrderMark ? line.slice(1) : line;
  // Nearly every line begins with a brace; only one that does not can be blank.
  if (text.charCodeAt(0) > 0x20 || !/^[ \t\r]*$/.test(text)) lines.push(text);
}

/**
 * Pieces smaller than this are put together: a line that comes byte by byte would cost an object
 * per byte.
 */
const smallPiece = 16 * 1024;

/**
 * Adds a piece. Small ones are merged with those of their own size, so that each byte is copied a
 * few times at most.
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

/** Cut characters at either end become others; nothing is read from those. */
const looseDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** What is known of a line that is too long to be kept: which answer it was, if it says so. */
class SkippedLine {
  readonly #maxLineBytes: number;
  readonly #beginning: string;
  #end: Uint8Array = new Uint8Array();

  /** @param pieces of the line, up to the one that was too much */
  constructor(maxLineBytes: number, pieces: readonly Uint8Array[]) {
    this.#maxLineBytes = maxLineBytes;
    this.#beginning = looseDecoder.decode(beginningOf(pieces));
    for (const piece of pieces) this.skip(piece);
  }

  /** What the line is known by before its end; undefined if its end may say more. */
  get early(): InvalidFrame | undefined {
    const named = leadingAnswerId(this.#beginning);
    return named === 'later' ? undefined : this.#frame(named);
  }

  /** What the line is known by at its end. */
  get late(): InvalidFrame {
    return this.#frame(trailingAnswerId(looseDecoder.decode(this.#end)));
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
    return answers === undefined
      ? { kind: 'invalid', error }
      : { kind: 'invalid', error, answers: [answers] };
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
