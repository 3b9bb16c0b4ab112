/** Reading a range of lines from an open file of any size. */
import type { FileHandle } from 'node:fs/promises';
import { LineTaker } from './line-range.ts';
import type { LineRange, TakenLines } from './line-range.ts';
import { decoderLabel, detectContent, sampleBytes } from './text-encoding.ts';
import type { TextEncoding } from './text-encoding.ts';

export type TextReading =
  | { readonly text: true; readonly encoding: TextEncoding; readonly lines: TakenLines }
  | { readonly text: false; readonly kind: string };

export interface TextReadOptions {
  readonly signal: AbortSignal;
  /** Told after each piece how many bytes have been read. */
  readonly onRead?: (bytes: number) => void;
}

/**
 * Reads the range, and the rest only to count its lines. Memory is bounded by the range.
 *
 * @throws the signal's reason; the system's error where reading fails
 */
export async function readText(
  handle: FileHandle,
  range: LineRange,
  { signal, onRead }: TextReadOptions,
): Promise<TextReading> {
  const sample = await readPiece(handle, Buffer.allocUnsafe(sampleBytes), 0);
  const content = detectContent(sample);
  if (!content.text) return content;
  const decoder = new TextDecoder(decoderLabel(content.encoding));
  const taker = new LineTaker(range);
  const buffer = Buffer.allocUnsafe(4 * sampleBytes);
  let position = 0;
  for (let piece = sample; piece.length > 0; piece = await readPiece(handle, buffer, position)) {
    signal.throwIfAborted();
    position += piece.length;
    taker.add(decoder.decode(piece, { stream: true }));
    onRead?.(position);
  }
  taker.add(decoder.decode());
  return { text: true, encoding: content.encoding, lines: taker.finish() };
}

/**
 * Reads a small file to its end.
 *
 * @returns undefined if it has more than `maxBytes`, also if it has grown since somebody looked at its size
 * @throws the system's error
 */
export async function readWhole(handle: FileHandle, maxBytes: number): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  for (let size = 0; ;) {
    // One byte more than may be there tells a file that is too large from one that is not.
    const buffer = Buffer.allocUnsafe(Math.min(sampleBytes, maxBytes + 1 - size));
    const piece = await readPiece(handle, buffer, size);
    pieces.push(piece);
    size += piece.length;
    if (size > maxBytes) return undefined;
    if (piece.length === 0) return Buffer.concat(pieces).toString('utf8');
  }
}

async function readPiece(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}
