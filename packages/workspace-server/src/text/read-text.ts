/** Reads a range of lines from an open file of any size. */
import type { disk } from 'mcp-actors/internal';
import { readBytes } from 'mcp-actors/roots';
import { LineExtractor } from './line-range.ts';
import type { LineRange, ExtractedLines } from './line-range.ts';
import { defaultBounds } from './read-bounds.ts';
import type { ReadBounds } from './read-bounds.ts';
import { decoderOf, detectContent, sampleBytes } from './text-encoding.ts';
import type { BinaryContent, TextEncoding } from './text-encoding.ts';

export type TextReading =
  | {
      readonly text: true;
      readonly encoding: TextEncoding;
      readonly taken: ExtractedLines;
      /**
       * How far the file was read: to its end, past the range, or not far enough to find the range.
       */
      readonly reach: 'end' | 'range' | 'short';
    }
  | BinaryContent;

export interface TextReadOptions extends ReadBounds {
  readonly signal: AbortSignal;
  /** Called after each chunk with the number of bytes read. */
  readonly onRead?: (bytes: number) => void;
}

/**
 * Reads the range; the rest is read within the limits, only to count lines. Memory is bounded by
 * the range.
 *
 * @throws the signal's reason; system errors of reading
 */
export async function readText(
  handle: disk.OpenFile,
  range: LineRange,
  { signal, onRead, sizeBytes, ...bounds }: TextReadOptions,
): Promise<TextReading> {
  const { maxCountBytes, maxSeekBytes } = { ...defaultBounds, ...bounds };
  // System files (`/proc`) report a size of 0 and are short.
  const end = sizeBytes === 0 ? sampleBytes : sizeBytes;
  const sample = await readPiece(handle, Buffer.allocUnsafe(Math.min(sampleBytes, end)), 0);
  const content = detectContent(sample);
  if (!content.text) return content;
  const decoder = decoderOf(content.encoding);
  const taker = new LineExtractor(range);
  const buffer = Buffer.allocUnsafe(4 * sampleBytes);
  const limits = { before: maxSeekBytes, inside: Infinity, behind: maxCountBytes };
  let position = 0;
  let piece = sample;
  while (piece.length > 0 && position < end) {
    signal.throwIfAborted();
    position += piece.length;
    taker.add(decoder.decode(piece, { stream: true }));
    onRead?.(position);
    const { position: place } = taker;
    if (position < end && position >= limits[place]) {
      const reach = place === 'before' ? 'short' : 'range';
      return { text: true, encoding: content.encoding, taken: taker.finish(), reach };
    }
    piece = await readPiece(handle, buffer.subarray(0, end - position), position);
  }
  taker.add(decoder.decode());
  return { text: true, encoding: content.encoding, taken: taker.finish(), reach: 'end' };
}

/**
 * Reads a small file completely, as UTF-8.
 *
 * @returns like {@link readBytes}
 * @throws system errors
 */
export async function readWhole(
  handle: disk.OpenFile,
  maxBytes: number,
): Promise<string | undefined> {
  return (await readBytes(handle, maxBytes))?.toString('utf8');
}

/** Reads one chunk: possibly shorter than requested, and empty at the end of the file. */
export async function readPiece(
  handle: disk.OpenFile,
  buffer: Buffer,
  position: number,
): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}
