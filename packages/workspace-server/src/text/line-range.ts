/** Extracts a range of lines from text that arrives in chunks, storing no more than the range. */

export interface LineRange {
  /** From 1. */
  readonly startLine: number;
  /** Inclusive. Default: the end of the file. */
  readonly endLine?: number;
  /** Start within the first line, in UTF-16 units from 1. */
  readonly startColumn: number;
  /**
   * Maximum length of the result including line numbers, characters. At least 2, or 16 with
   * numbers, so that any character fits.
   */
  readonly maxCharacters: number;
  /** True to prefix each line with its number and a tab. */
  readonly numbered?: boolean;
}

export interface ExtractedLines {
  /** Original text including line endings, with line numbers if requested. */
  readonly text: string;
  /** Last line of which text was extracted; `startLine - 1` if none. */
  readonly endLine: number;
  /** Number of lines in all chunks. */
  readonly lines: number;
  /**
   * Where to continue if `maxCharacters` ended the extraction: at the start of a line, unless the
   * first line alone is too long.
   */
  readonly next?: { readonly startLine: number; readonly startColumn: number };
}

/**
 * Extracts the lines of a range from chunks of text. Lines end with `
 * `; the last may lack it.
 */
export class LineExtractor {
  readonly #range: LineRange;
  /** Complete lines, and separately the parts of the current one. */
  readonly #taken: string[] = [];
  #last: string[] = [];
  #length = 0;
  /** Line and column of the next character. */
  #line = 1;
  #column = 1;
  #endLine: number;
  #next: ExtractedLines['next'];

  constructor(range: LineRange) {
    this.#range = range;
    this.#endLine = range.startLine - 1;
  }

  /** Adds a chunk. Text outside the range is only counted. */
  add(piece: string): void {
    let from = 0;
    for (let end = piece.indexOf('\n'); end !== -1; end = piece.indexOf('\n', from)) {
      this.#takePart(piece.slice(from, end + 1));
      this.#endOfLine();
      from = end + 1;
    }
    if (from < piece.length) this.#takePart(piece.slice(from));
  }

  /** Position of the next character relative to the range. */
  get position(): 'before' | 'inside' | 'behind' {
    const { startLine, endLine = Infinity, startColumn } = this.#range;
    if (this.#next !== undefined || this.#line > endLine) return 'behind';
    const isBefore =
      this.#line < startLine || (this.#line === startLine && this.#column < startColumn);
    return isBefore ? 'before' : 'inside';
  }

  /** Result, once every chunk has been added. */
  finish(): ExtractedLines {
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

  /** Processes a part of one line: up to its end, or to the end of the chunk. */
  #takePart(part: string): void {
    const { startLine, endLine = Infinity, startColumn, maxCharacters, numbered } = this.#range;
    const column = this.#column;
    this.#column += part.length;
    if (this.#line < startLine || this.#line > endLine || this.#next !== undefined) return;
    const skipped =
      this.#line === startLine ? skipSplitPair(part, Math.max(0, startColumn - column)) : 0;
    if (skipped >= part.length) return;
    const label = numbered && this.#last.length === 0 ? lineLabel(this.#line) : '';
    const room = maxCharacters - this.#length - label.length;
    const isWhole = part.length - skipped <= room;
    if (!isWhole && this.#taken.length > 0) {
      // The result has complete lines already: leave this line to the next call.
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

/** Prefix of a numbered line. */
export function lineLabel(line: number): string {
  return `${line}\t`;
}

/** Slices text without splitting surrogate pairs, moving each end inward if necessary. */
export function cutText(text: string, from: number, to: number): string {
  const start = skipSplitPair(text, from);
  const end = isLowSurrogate(text, to) ? to - 1 : to;
  return text.slice(start, Math.max(start, end));
}

/** Moves an index past a surrogate pair that it would split. */
function skipSplitPair(text: string, index: number): number {
  return isLowSurrogate(text, index) ? index + 1 : index;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return index > 0 && unit >= 0xdc00 && unit <= 0xdfff;
}
