/** Reads the last lines of an open file of any size. */
import type { disk } from 'mcp-actors/internal';
import { cutText, lineLabel } from './line-range.ts';
import { defaultBounds } from './read-bounds.ts';
import { readPiece, readText } from './read-text.ts';
import type { TextReadOptions } from './read-text.ts';
import { decoderOf, sampleBytes } from './text-encoding.ts';
import type { BinaryContent, TextEncoding } from './text-encoding.ts';

export interface TailRange {
  /** Maximum number of lines. */
  readonly lines: number;
  /** Maximum length including line numbers, characters; the end is kept. At least 16. */
  readonly maxCharacters: number;
  /** True to prefix each line with its number and a tab, if the lines could be counted. */
  readonly numbered: boolean;
}

export interface TailResult {
  readonly text: true;
  readonly encoding: TextEncoding;
  /** Original text including line endings, with line numbers if requested. */
  readonly taken: string;
  /** Number of lines in `taken`. */
  readonly lines: number;
  /** Lines of the whole file; undefined if it is too large to count. */
  readonly total: number | undefined;
  /** True if more of the requested lines exist but did not fit. */
  readonly isShort: boolean;
  /** True if the only line did not fit and its beginning is missing. */
  readonly isCut: boolean;
}

/**
 * Reads the last lines, and the rest of the file only to count lines.
 *
 * @throws the signal's reason; system errors of reading
 */
export async function readTail(
  handle: disk.OpenFile,
  range: TailRange,
  options: TextReadOptions,
): Promise<TailResult | BinaryContent> {
  const { sizeBytes, maxCountBytes = defaultBounds.maxCountBytes } = options;
  const nothing = { startLine: 1, endLine: 0, startColumn: 1, maxCharacters: 2 };
  // A partial count is useless, so skip counting if the file is too large.
  const counting = { ...options, maxCountBytes: sizeBytes > maxCountBytes ? 0 : maxCountBytes };
  const counted = await readText(handle, nothing, counting);
  if (!counted.text) return counted;
  const { encoding, reach, taken } = counted;
  const total = reach === 'end' ? taken.lines : undefined;
  const end = await readEnd(handle, encoding, sizeBytes, range.maxCharacters);
  return { text: true, encoding, total, ...lastLines(end, range, total) };
}

interface FileEnd {
  readonly text: string;
  /** False if more text precedes it. */
  readonly isWhole: boolean;
}

/** Reads and decodes at least the last `characters`. */
async function readEnd(
  handle: disk.OpenFile,
  encoding: TextEncoding,
  sizeBytes: number,
  characters: number,
): Promise<FileEnd> {
  // System files (`/proc`) report a size of 0 and are short.
  const size = sizeBytes === 0 ? sampleBytes : sizeBytes;
  // UTF-8 needs at most three bytes per UTF-16 unit. An even offset keeps UTF-16 units aligned.
  const wanted = 4 * characters + 8;
  const from = Math.max(0, size - wanted - ((size - wanted) % 2));
  const pieces: Buffer[] = [];
  for (let position = from; position < size;) {
    const piece = await readPiece(handle, Buffer.allocUnsafe(size - position), position);
    if (piece.length === 0) break;
    pieces.push(piece);
    position += piece.length;
  }
  const bytes = Buffer.concat(pieces);
  const start = from === 0 ? 0 : firstCharacter(bytes, encoding);
  const decoder = decoderOf(encoding, { ignoreBOM: from > 0 });
  return { text: decoder.decode(bytes.subarray(start)), isWhole: from === 0 };
}

/** Offset of the first complete character. */
function firstCharacter(bytes: Buffer, encoding: TextEncoding): number {
  if (encoding.startsWith('utf-8')) {
    return Math.max(
      0,
      bytes.findIndex((byte) => (byte & 0xc0) !== 0x80),
    );
  }
  // No Shift-JIS character has such a byte in second position.
  return encoding === 'shift_jis' ? bytes.findIndex((byte) => byte < 0x40) + 1 : 0;
}

function lastLines(
  { text, isWhole }: FileEnd,
  { lines: wanted, maxCharacters, numbered }: TailRange,
  total: number | undefined,
) {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const taken: string[] = [];
  let room = maxCharacters;
  let isCut = false;
  while (taken.length < Math.min(wanted, lines.length) && !isCut) {
    const line = lines[lines.length - 1 - taken.length] ?? '';
    const label = numbered && total !== undefined ? lineLabel(total - taken.length) : '';
    const isPart = !isWhole && taken.length === lines.length - 1;
    room -= label.length + line.length;
    if (room < 0 || isPart) {
      if (taken.length > 0) break;
      isCut = true;
    }
    taken.push(label + (room < 0 ? cutText(line, -room, line.length) : line));
  }
  const isShort = taken.length < wanted && (taken.length < lines.length || !isWhole);
  return { taken: taken.toReversed().join(''), lines: taken.length, isShort, isCut };
}
