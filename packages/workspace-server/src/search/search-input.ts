/**
 * The files that a search reads, as one stream of bounded lines.
 *
 * ripgrep holds a whole line in memory, and each of its matches. What it gets from us has no line
 * longer than `maxLineBytes`, comes from files that were open when they were found inside the roots
 * boundary, and is UTF-8 if the encoding of the file is known.
 */
import { disk, quoted } from 'mcp-actors/internal';
import { fileOpener } from 'mcp-actors/roots';
import type { Boundary, FileOpener } from 'mcp-actors/roots';
import { ToolError } from 'mcp-actors';
import { maxLineBytes } from './line-bounds.ts';
import { decoderOf, detectContent } from '../text/text-encoding.ts';

const pieceBytes = 64 * 1024;
const newline = 0x0a;

/** Where a line of the stream comes from. */
export interface Place {
  readonly path: string;
  /** From 1. */
  readonly line: number;
}

interface Section {
  /** Undefined between two files. */
  readonly path: string | undefined;
  /** The line of the stream that is its first, from 1. */
  readonly first: number;
  /** Lines of the stream that stand for longer ones. */
  readonly overlong: Set<number>;
}

export class SearchInput {
  readonly #boundary: Boundary;
  readonly #gap: Buffer;
  readonly #onProblem: (problem: string) => void;
  readonly #onBinary: (path: string) => void;
  /** Those whose lines may still come back, in order. */
  #sections: Section[] = [];
  #lines = 0;

  /**
   * @param gapLines empty lines between two files, so that the context of a match does not reach
   *   into the next file
   * @param onProblem told what was not searched
   * @param onBinary told of files that are not text, of which nothing is in the stream
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
   * The stream. What cannot be read is a problem, and the stream goes on.
   *
   * @throws {ToolError} ROOT_UNAVAILABLE; what `paths` throws
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
   * Where a line of the stream comes from; undefined for what separates files and for lines
   * that were left out. Lines are asked for in order.
   */
  place(line: number): Place | undefined {
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
        // Lines within a piece are short enough: only one that began in a piece before can be too
        // long.
        const end = piece.indexOf(newline);
        const last = piece.lastIndexOf(newline);
        const head = end === -1 ? piece : piece.subarray(0, end + 1);
        heldBytes += head.length;
        if (heldBytes > maxLineBytes) held = [];
        else held.push(head);
        if (end === -1) continue;
        if (heldBytes > maxLineBytes) section.overlong.add(this.#lines + 1);
        yield this.#counted(heldBytes > maxLineBytes ? Buffer.from('\n') : Buffer.concat(held));
        if (last > end) yield this.#counted(piece.subarray(end + 1, last + 1));
        held = [piece.subarray(last + 1)];
        heldBytes = piece.length - last - 1;
      }
      if (heldBytes > maxLineBytes) section.overlong.add(this.#lines + 1);
      if (heldBytes > 0) yield this.#counted(Buffer.concat([...held, Buffer.from('\n')]));
      this.#tell(section);
    } finally {
      await handle.close();
    }
    if (this.#gap.length === 0) return;
    this.#begin(undefined);
    yield this.#counted(this.#gap);
  }

  #begin(path: string | undefined): Section {
    const section = { path, first: this.#lines + 1, overlong: new Set<number>() };
    this.#sections.push(section);
    return section;
  }

  #counted(lines: Buffer): Buffer {
    for (let at = lines.indexOf(newline); at !== -1; at = lines.indexOf(newline, at + 1)) {
      this.#lines += 1;
    }
    return lines;
  }

  #tell({ path, first, overlong }: Section): void {
    const [line] = overlong;
    if (line === undefined || path === undefined) return;
    const more = overlong.size > 1 ? ` and ${overlong.size - 1} more` : '';
    this.#onProblem(
      `${quoted(path)}: line ${line - first + 1}${more}, longer than ${maxLineBytes / 1024} KiB`,
    );
  }
}

/**
 * A file's text, in UTF-8 if its encoding is known. What is appended meanwhile is not
 * read.
 *
 * @param onBinary called instead if a NUL in its beginning says that it is not text
 */
async function* readPieces(
  handle: disk.OpenFile,
  sizeBytes: number,
  onBinary: () => void,
): AsyncGenerator<Buffer, void, void> {
  // The system's own files (`/proc`) say that they are empty.
  const end = sizeBytes === 0 ? Number.POSITIVE_INFINITY : sizeBytes;
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let position = 0;
  while (position < end) {
    // A new one each time: what was given out waits to be written.
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
    // A later one is part of the text, as it is for `read_file`.
    if (isFirst && piece.includes(0)) return onBinary();
    yield piece;
  }
}
