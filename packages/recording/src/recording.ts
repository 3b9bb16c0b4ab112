/** Reads a recording, or a transcript written by hand. */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { exceedsDepth } from '../../../src/protocol/codec.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { RecordedLine, RecordingHeader, ConnectionHeader } from './format.ts';
import { assertHeader, assertLine } from './line-shapes.ts';
import type { Refuse } from './line-shapes.ts';

/** A line, other than the header, a remark, or the notice that recording stopped. */
export interface NumberedLine<TLine = RecordedLine> {
  /** Its place in the file; the first line is 1. */
  readonly number: number;
  /** What the line says. */
  readonly line: TLine;
}

/** A recording in memory. */
export interface Recording {
  /** The name of the file, for messages. */
  readonly name: string;
  /** What the transcript shows, as its author says it. */
  readonly about: string | undefined;
  /** Of a session; undefined in a transcript written by hand. */
  readonly header: RecordingHeader | undefined;
  /** Of a host's connection. */
  readonly connection: ConnectionHeader | undefined;
  /** All lines, in order. */
  readonly lines: readonly NumberedLine[];
  /** Why the session's end is missing; undefined if it is there. */
  readonly unfinished: string | undefined;
}

/** How deep a line may nest: deeper JSON could not be written again, for lack of stack. */
const maxDepth = 4000;

/** The text is not a recording. The message names the file and the line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

/**
 * Reads a recording from its text.
 *
 * @param name what messages call the file
 * @throws {RecordingError} a line is wrong; the message names the line and says what to mend
 */
export function readRecording(text: string, name: string): Recording {
  const refuseAt =
    (number: number): Refuse =>
    (fault) => {
      throw new RecordingError(`${name}:${number}: ${fault}`);
    };
  const rows = text.split('\n');
  // A recorder ends each line. If the last one has no end, the process was killed while writing it.
  const rest = rows.pop() ?? '';
  const isCut = rest !== '' && !isJson(rest);
  if (rest !== '' && !isCut) rows.push(rest);
  const lines: NumberedLine[] = [];
  let header: RecordingHeader | ConnectionHeader | undefined = undefined;
  let about: string | undefined = undefined;
  let stopped: string | undefined = undefined;
  for (const [index, row] of rows.entries()) {
    const number = index + 1;
    const refuse: Refuse = refuseAt(number);
    if (row.trim() === '') continue;
    const line: object = parsed(row, refuse);
    if ('recording' in line) {
      if (lines.length > 0 || header) {
        refuse('a second recording begins here: keep each in a file of its own');
      }
      assertHeader(line, refuse);
      header = line;
      continue;
    }
    assertLine(line, refuse);
    if ('about' in line) about ??= line.about;
    else if ('stopped' in line) stopped = line.stopped;
    else lines.push({ number, line });
  }
  if (!header && lines.length === 0) {
    refuseAt(1)(text.trim() === '' ? 'the file is empty' : 'nothing is recorded here');
  }
  const unfinished = isCut
    ? `line ${rows.length + 1} is cut off: the process was killed while it was written`
    : stopped === undefined
      ? header && !lines.some(({ line }) => 'closed' in line)
        ? 'it ends before the session has: the process was killed'
        : undefined
      : `recording stopped: ${stopped}`;
  const connection = header && isOfConnection(header) ? header : undefined;
  const session = header && !isOfConnection(header) ? header : undefined;
  return { name, about, header: session, connection, lines, unfinished };
}

function isOfConnection(header: RecordingHeader | ConnectionHeader): header is ConnectionHeader {
  return 'side' in header;
}

function parsed(row: string, refuse: Refuse): JsonObject {
  if (exceedsDepth(row, maxDepth)) refuse(`it nests deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(row);
  } catch (error) {
    return refuse(`this is not JSON: ${(error as Error).message}`);
  }
  return isJsonObject(value)
    ? value
    : refuse(`a line is a JSON object, this is ${inspectValue(value)}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
