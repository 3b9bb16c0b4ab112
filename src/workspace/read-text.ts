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

async function readPiece(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
  return buffer.subarray(0, bytesRead);
}
