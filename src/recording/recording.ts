/** A recording, or a transcript that a person has written, as it is read. */
import { describe, isJsonObject } from '../protocol/classify.ts';
import { exceedsDepth } from '../protocol/codec.ts';
import { kindOf } from './format.ts';
import type { RecordedLine, RecordingHeader } from './format.ts';
import { faultOf, faultOfHeader } from './line-faults.ts';

/** A line that means something. */
export interface NumberedLine<TLine = RecordedLine> {
  /** In the file; the first is 1. */
  readonly number: number;
  readonly line: TLine;
}

/** A recording in memory. */
export interface Recording {
  /** The file's, for messages. */
  readonly name: string;
  /** What the transcript shows, in its author's words. */
  readonly about: string | undefined;
  /** Absent in a transcript that a person has written. */
  readonly header: RecordingHeader | undefined;
  readonly lines: readonly NumberedLine[];
  /** Why it says nothing of the session's end, where it does not. */
  readonly unfinished: string | undefined;
}

/** How deep a line may nest: as deep as the stack lets JSON be written. */
const maxDepth = 4000;

/** A text that is no recording. The message names the file and the line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

/**
 * Reads a recording.
 *
 * @param name what messages call it
 * @throws {RecordingError} what is wrong, in which line
 */
export function readRecording(text: string, name: string): Recording {
  const refuse = (number: number, fault: string): never => {
    throw new RecordingError(`${name}:${number}: ${fault}`);
  };
  const rows = text.split('\n');
  // Whoever writes it ends each line: a rest without an end was cut off when the process was killed.
  const rest = rows.pop() ?? '';
  const isCut = rest !== '' && !isJson(rest);
  if (rest !== '' && !isCut) rows.push(rest);
  const lines: NumberedLine[] = [];
  let header: RecordingHeader | undefined = undefined;
  let about: string | undefined = undefined;
  let stopped: string | undefined = undefined;
  for (const [at, row] of rows.entries()) {
    const number = at + 1;
    if (row.trim() === '') continue;
    const value = parsed(row, (fault) => refuse(number, fault));
    if ('recording' in value) {
      if (lines.length > 0 || header)
        refuse(number, 'a second recording begins here: keep each in a file of its own');
      const fault = faultOfHeader(value);
      if (fault !== undefined) refuse(number, fault);
      header = value as unknown as RecordingHeader;
      continue;
    }
    const kind = kindOf(value);
    if (kind === undefined) {
      const members =
        Object.keys(value)
          .slice(0, 5)
          .map((key) => describe(key))
          .join(', ') || 'none';
      refuse(
        number,
        `this is no line of a recording: nothing says what it is; its members are ${members}`,
      );
    }
    const line = value as unknown as RecordedLine;
    const fault = faultOf(value, kind as string);
    if (fault !== undefined) refuse(number, fault);
    if ('about' in line) about ??= line.about;
    else if ('stopped' in line) stopped = line.stopped;
    else lines.push({ number, line });
  }
  if (!header && lines.length === 0) {
    refuse(1, text.trim() === '' ? 'the file is empty' : 'nothing is recorded here');
  }
  const unfinished = isCut
    ? `line ${rows.length + 1} is cut off: the process was killed while it was written`
    : stopped === undefined
      ? header && !lines.some(({ line }) => 'closed' in line)
        ? 'it ends before the session has: the process was killed'
        : undefined
      : `recording stopped: ${stopped}`;
  return { name, about, header, lines, unfinished };
}

function parsed(row: string, refuse: (fault: string) => never) {
  if (exceedsDepth(row, maxDepth)) refuse(`it nests deeper than ${maxDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(row);
  } catch (error) {
    return refuse(`this is no JSON: ${(error as Error).message}`);
  }
  return isJsonObject(value)
    ? value
    : refuse(`a line is a JSON object, this is ${describe(value)}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
