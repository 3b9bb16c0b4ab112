/**
 * Feeds the searched files to ripgrep as one stream of bounded lines.
 *
 * Ripgrep holds a whole line and all its matches in memory. The stream therefore contains no line
 * longer than `maxLineBytes`. It only reads files opened inside the roots boundary, and converts
 * known encodings to UTF-8.
 */
import { disk, quoted } from 'mcp-actors/internal';
import { fileOpener } from 'mcp-actors/roots';
import type { Boundary, FileOpener } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { maxLineBytes } from './line-bounds.ts';
import { decoderOf, detectContent } from '../text/text-encoding.ts';

const pieceBytes = 64 * 1024;
const newline = 0x0a;

/** Origin of a line of the stream. */
export interface LineOrigin {
  readonly path: string;
  /** From 1. */
  readonly line: number;
}

interface Section {
  /** Undefined for the gap between two files. */
  readonly path: string | undefined;
  /** Stream line number of the section's first line, from 1. */
  readonly first: number;
  /** Stream lines that replace overlong ones. */
  readonly overlong: Set<number>;
}

export class SearchInput {
  readonly #boundary: Boundary;
  readonly #gap: Buffer;
  readonly #onProblem: (problem: string) => void;
  readonly #onBinary: (path: string) => void;
  /** Sections whose lines may still be requested, in order. */
  #sections: Section[] = [];
  #lines = 0;

  /**
   * @param gapLines empty lines between files, so that the context of a match does not reach into
   * the next file
   * @param onProblem called with parts that were not searched
   * @param onBinary called with binary files, which are not in the stream
   */
  constructor(
    boundary: Boundary,
    gapLines: number,
    onProblem: (problem: string) => void,
    onBinary: (path: string) => void,
  ) {
    this.#boundary = boundary;
    this.#gap = Buffer.alloc(gapLines, newline);
    this.#onProblem = onProblem;
    this.#onBinary = onBinary;
  }

  /**
   * Yields the stream. Unreadable files are reported as problems and skipped.
   *
   * @throws {ToolError} ROOT_UNAVAILABLE; errors of `paths`
   */
  async *read(paths: AsyncIterable<string>): AsyncGenerator<Buffer, void, void> {
    const opener = await fileOpener(this.#boundary);
    try {
      for await (const path of paths) {
        try {
          yield* this.#readFile(opener, path);
        } catch (error) {
          if (error instanceof ToolError && error.code !== 'ROOT_UNAVAILABLE') {
            this.#onProblem(error.message);
          } else if (error instanceof ToolError || disk.systemCode(error) === undefined)
            throw error;
          else this.#onProblem(`${quoted(path)} ${disk.describeFsError(error).phrase}`);
        }
      }
    } finally {
      await opener.close();
    }
  }

  /**
   * Returns the origin of a stream line; undefined for gaps and replaced lines. Call it with
   * increasing line numbers.
   */
  originOf(line: number): LineOrigin | undefined {
    let [section, next] = this.#sections;
    while (next !== undefined && next.first <= line) {
      this.#sections.shift();
      [section, next] = this.#sections;
    }
    if (section?.path === undefined || section.overlong.has(line)) return undefined;
    return { path: section.path, line: line - section.first + 1 };
  }

  async *#readFile(opener: FileOpener, path: string): AsyncGenerator<Buffer, void, void> {
    const { handle, stats } = await opener.open(path);
    try {
      const section = this.#begin(path);
      let held: Buffer[] = [];
      let heldBytes = 0;
      for await (const piece of readPieces(handle, stats.size, () => this.#onBinary(path))) {
        // Lines within a chunk are short enough; only a line continued from an earlier chunk can be
        // too long.
        const end = piece.indexOf(newline);
        const last = piece.lastIndexOf(newline);
        const head = end === -1 ? piece : piece.subarray(0, end + 1);
        heldBytes += head.length;
        if (heldBytes > maxLineBytes) held = [];
        else held.push(head);
        if (end === -1) continue;
        if (heldBytes > maxLineBytes) section.overlong.add(this.#lines + 1);
        yield this.#countLines(heldBytes > maxLineBytes ? Buffer.from('\n') : Buffer.concat(held));
        if (last > end) yield this.#countLines(piece.subarray(end + 1, last + 1));
        held = [piece.subarray(last + 1)];
        heldBytes = piece.length - last - 1;
      }
      if (heldBytes > maxLineBytes) section.overlong.add(this.#lines + 1);
      if (heldBytes > 0) yield this.#countLines(Buffer.concat([...held, Buffer.from('\n')]));
      this.#reportOverlong(section);
    } finally {
      await handle.close();
    }
    if (this.#gap.length === 0) return;
    this.#begin(undefined);
    yield this.#countLines(this.#gap);
  }

  #begin(path: string | undefined): Section {
    const section = { path, first: this.#lines + 1, overlong: new Set<number>() };
    this.#sections.push(section);
    return section;
  }

  #countLines(lines: Buffer): Buffer {
    for (let at = lines.indexOf(newline); at !== -1; at = lines.indexOf(newline, at + 1)) {
      this.#lines += 1;
    }
    return lines;
  }

  #reportOverlong({ path, first, overlong }: Section): void {
    const [line] = overlong;
    if (line === undefined || path === undefined) return;
    const more = overlong.size > 1 ? ` and ${overlong.size - 1} more` : '';
    this.#onProblem(
      `${quoted(path)}: line ${line - first + 1}${more}, longer than ${maxLineBytes / 1024} KiB`,
    );
  }
}

/**
 * Yields a file's text, as UTF-8 if its encoding is known. Data appended later is not read.
 *
 * @param onBinary called if a NUL near the start marks the file as binary
 */
async function* readPieces(
  handle: disk.OpenFile,
  sizeBytes: number,
  onBinary: () => void,
): AsyncGenerator<Buffer, void, void> {
  // System files (`/proc`) report a size of 0.
  const end = sizeBytes === 0 ? Number.POSITIVE_INFINITY : sizeBytes;
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let position = 0;
  while (position < end) {
    // A new buffer per chunk, because yielded ones are queued for writing.
    const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, end - position));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    let piece = buffer.subarray(0, bytesRead);
    const isFirst = position === 0;
    if (isFirst) {
      const content = detectContent(piece);
      if (content.text && content.encoding === 'utf-8-bom') piece = piece.subarray(3);
      const own = content.text ? decoderOf(content.encoding) : undefined;
      if (own?.encoding !== 'utf-8') decoder = own;
    }
    position += bytesRead;
    if (decoder !== undefined) piece = Buffer.from(decoder.decode(piece, { stream: true }));
    // A NUL further on counts as text, as in `read_file`.
    if (isFirst && piece.includes(0)) return onBinary();
    yield piece;
  }
}
