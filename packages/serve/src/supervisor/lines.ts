/** Lines that are made of others: with another id, with something inserted, without something. */
import type { ScannedMessage, Span } from './message-scan.ts';

const lineFeed = Buffer.from('\n');

/** A message as a line of its own. */
export function lineOf(line: Buffer, { span }: ScannedMessage): Buffer {
  return Buffer.concat([line.subarray(span.from, span.to), lineFeed]);
}

/** A copy of a line with a text in place of a part of it. */
export function replaced(line: Buffer, { from, to }: Span, text: string): Buffer {
  return Buffer.concat([line.subarray(0, from), Buffer.from(text), line.subarray(to)]);
}

/** A copy of a line with a text inserted. */
export function inserted(line: Buffer, at: number, text: string): Buffer {
  return replaced(line, { from: at, to: at }, text);
}
