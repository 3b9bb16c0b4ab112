/** Edited copies of lines: one member of a batch, another id, an inserted member. */
import type { ScannedMessage, Span } from './message-scan.ts';

const lineFeed = Buffer.from('\n');

/** One message of a line, as a separate line. */
export function lineOf(line: Buffer, { span }: ScannedMessage): Buffer {
  return Buffer.concat([line.subarray(span.from, span.to), lineFeed]);
}

/** A copy of a line with one span replaced. */
export function replaced(line: Buffer, { from, to }: Span, text: string): Buffer {
  return Buffer.concat([line.subarray(0, from), Buffer.from(text), line.subarray(to)]);
}

/** A copy of a line with text inserted. */
export function inserted(line: Buffer, at: number, text: string): Buffer {
  return replaced(line, { from: at, to: at }, text);
}
