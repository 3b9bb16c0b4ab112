/** Taking a range of lines out of text that comes in pieces, holding no more than the range. */

export interface LineRange {
  /** From 1. */
  readonly startLine: number;
  /** Inclusive; to the end of the file without it. */
  readonly endLine?: number;
  /** How far into the first line to begin, in characters (UTF-16 units) from 1. */
  readonly startColumn: number;
  /**
   * The most that is taken, characters with the numbers; at least 2, or 16 with numbers, so that
   * any character fits.
   */
  readonly maxCharacters: number;
  /** Puts each line's number and a tab in front of it. */
  readonly numbered?: boolean;
}

export interface TakenLines {
  /** The file's own text, line ends included, or with the numbers that were asked for. */
  readonly text: string;
  /** The last line of which something was taken; `startLine - 1` if nothing was. */
  readonly endLine: number;
  /** Lines in all pieces. */
  readonly lines: number;
  /**
   * Where to go on, if `maxCharacters` ended it before the range did: at the beginning of a line,
   * unless the first line alone is too long.
   */
  readonly next?: { readonly startLine: number; readonly startColumn: number };
}

/**
 * Takes pieces of text and gives the lines of a range. Lines end with `\n`; the last may lack it.
 */
export class LineTaker {
  readonly #range: LineRange;
  /** Whole lines, and apart from them what there is of the last one. */
  readonly #taken: string[] = [];
  #last: string[] = [];
  #length = 0;
  /** The line that the next character belongs to, and its place in it. */
  #line = 1;
  #column = 1;
  #endLine: number;
  #next: TakenLines['next'];

  constructor(range: LineRange) {
    this.#range = range;
    this.#endLine = range.startLine - 1;
  }

  /** Takes the next piece; what is outside the range is only counted. */
  add(piece: string): void {
    let from = 0;
    for (let end = piece.indexOf('\n'); end !== -1; end = piece.indexOf('\n', from)) {
      this.#takePart(piece.slice(from, end + 1));
      this.#endOfLine();
      from = end + 1;
    }
    if (from < piece.length) this.#takePart(piece.slice(from));
  }

  /** Where the next character is, seen from the range. */
  get place(): 'before' | 'inside' | 'behind' {
    const { startLine, endLine = Infinity, startColumn } = this.#range;
    if (this.#next !== undefined || this.#line > endLine) return 'behind';
    const isBefore =
      this.#line < startLine || (this.#line === startLine && this.#column < startColumn);
    return isBefore ? 'before' : 'inside';
  }

  /** What was taken, once every piece has been added. */
  finish(): TakenLines {
    const lines = this.#column > 1 ? this.#line : this.#line - 1;
    const text = [...this.#taken, ...this.#last].join('');
    const taken = { text, endLine: this.#endLine, lines };
    return this.#next === undefined ? taken : { ...taken, next: this.#next };
  }

  #endOfLine(): void {
    this.#taken.push(...this.#last);
    this.#last = [];
    this.#line += 1;
    this.#column = 1;
  }

  /** Part of one line: its end, or as much of it as the piece has. */
  #takePart(part: string): void {
    const { startLine, endLine = Infinity, startColumn, maxCharacters, numbered } = this.#range;
    const column = this.#column;
    this.#column += part.length;
    if (this.#line < startLine || this.#line > endLine || this.#next !== undefined) return;
    const skipped =
      this.#line === startLine ? afterPair(part, Math.max(0, startColumn - column)) : 0;
    if (skipped >= part.length) return;
    const label = numbered && this.#last.length === 0 ? lineLabel(this.#line) : '';
    const room = maxCharacters - this.#length - label.length;
    const isWhole = part.length - skipped <= room;
    if (!isWhole && this.#taken.length > 0) {
      // The lines before are an answer: this one is left to the next call, as a whole.
      this.#last = [];
      this.#endLine = this.#line - 1;
      this.#next = { startLine: this.#line, startColumn: 1 };
      return;
    }
    const kept = isWhole ? part.slice(skipped) : cutText(part, skipped, skipped + room);
    if (!isWhole) {
      this.#next = { startLine: this.#line, startColumn: column + skipped + kept.length };
    }
    if (kept === '') return;
    this.#last.push(label + kept);
    this.#length += label.length + kept.length;
    this.#endLine = this.#line;
  }
}

/** What comes before a numbered line. */
export function lineLabel(line: number): string {
  return `${line}\t`;
}

/**
 * `text.slice(from, to)`, each end moved inward off the middle of a surrogate pair: half of one is
 * not Unicode text.
 */
export function cutText(text: string, from: number, to: number): string {
  const start = afterPair(text, from);
  const end = isLowSurrogate(text, to) ? to - 1 : to;
  return text.slice(start, Math.max(start, end));
}

/** `index`, moved behind a surrogate pair that it would halve. */
function afterPair(text: string, index: number): number {
  return isLowSurrogate(text, index) ? index + 1 : index;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff;
}
