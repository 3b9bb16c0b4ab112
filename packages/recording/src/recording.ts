/** Reads a recording or a handwritten transcript. */
import { inspectValue, isJsonObject } from '../../../src/protocol/classify.ts';
import { exceedsDepth } from '../../../src/protocol/codec.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { RecordedLine, RecordingHeader, ConnectionHeader } from './format.ts';
import { assertHeader, assertLine } from './line-shapes.ts';
import type { Refuse } from './line-shapes.ts';

/** A line other than the header, a comment or the stop notice. */
export interface NumberedLine<TLine = RecordedLine> {
  /** Line number in the file, from 1. */
  readonly number: number;
  /** Content of the line. */
  readonly line: TLine;
}

/** A recording in memory. */
export interface Recording {
  /** File name, for messages. */
  readonly name: string;
  /** Title of a transcript, given by its author. */
  readonly about: string | undefined;
  /** Header of a session; undefined in a handwritten transcript. */
  readonly header: RecordingHeader | undefined;
  /** Header of a host's connection. */
  readonly connection: ConnectionHeader | undefined;
  /** All lines, in order. */
  readonly lines: readonly NumberedLine[];
  /** Why the session's end is missing; undefined if the recording is complete. */
  readonly unfinished: string | undefined;
}

/** Maximum nesting of a line: deeper JSON would overflow the stack when serialized. */
const maxDepth = 4000;

/** Error of an invalid recording; the message names the file and line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

/**
 * Parses a recording.
 *
 * @param name file name for messages
 * @throws {RecordingError} a line is invalid; names the line and the problem
 */
export function readRecording(text: string, name: string): Recording {
  const refuseAt =
    (number: number): Refuse =>
    (fault) => {
      throw new RecordingError(`${name}:${number}: ${fault}`);
    };
  const rows = text.split('\n');
  // A recorder terminates each line, so an unterminated last line was cut by a kill.
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
