/** Recording files. For Node. */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { Report } from '../../../src/actors/facts.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { recordConnection, record } from './recorder.ts';
import type { ConnectionRecorder, RecordOptions, Recorder } from './recorder.ts';
import type { RecordingSink } from './recording-writer.ts';
import { RecordingError, readRecording } from './recording.ts';
import type { Recording } from './recording.ts';

/** Error of a file that cannot be recorded into. */
export class RecordingFileError extends Error {
  override readonly name = 'RecordingFileError';
}

/** Maximum size of a file to read, bytes; slightly below V8's maximum string length. */
const longestFile = 511 * 1024 ** 2;

/**
 * Records one session into a file, as `listen`'s option `environment: recordToFile('session.jsonl')`. The file is readable
 * only by its owner. The recorder writes at the end of each event-loop turn and before the process exits, so a killed
 * process loses at most one turn.
 *
 * @param path a new file, or a directory, which gets a new file named after the time and the process
 * @throws {RecordingFileError} the file exists already, or cannot be created
 */
export function recordToFile(path: string, options: RecordOptions = {}): Recorder {
  return recordIntoFile(isDirectory(path) ? join(path, freshName()) : path, options, () => {});
}

/**
 * Records one connection of a host's into a file, as `connect`'s option `record:
 * recordConnectionToFile('connection.jsonl')`; see {@link recordToFile}.
 *
 * @throws {RecordingFileError} the file exists already, or cannot be created
 */
export function recordConnectionToFile(
  path: string,
  options: RecordOptions = {},
): ConnectionRecorder {
  return intoFile(isDirectory(path) ? join(path, freshName()) : path, options, recordConnection);
}

/** @param closed called once the file is closed */
function recordIntoFile(path: string, options: RecordOptions, closed: () => void): Recorder {
  return intoFile(path, options, record, closed);
}

function intoFile<T extends { flush(): void }>(
  path: string,
  options: RecordOptions,
  begin: (sink: RecordingSink, options: RecordOptions) => T,
  closed: () => void = () => {},
): T {
  const descriptor = open(path);
  const recorder = begin(
    {
      write: (text) => writeWhole(descriptor, text),
      close: () => {
        if (unfinished.delete(recorder) && unfinished.size === 0) process.off('exit', finish);
        closeSync(descriptor);
        closed();
      },
    },
    { ...options, header: { platform: `Node ${process.versions.node}`, ...options.header } },
  );
  if (unfinished.size === 0) process.on('exit', finish);
  unfinished.add(recorder);
  return recorder;
}

/** Recorders to flush before the process exits. */
const unfinished = new Set<{ flush(): void }>();

function finish(): void {
  for (const recorder of unfinished) recorder.flush();
}

/**
 * Reads a recording or a transcript from a file.
 *
 * @throws {RecordingError} the file is unreadable, or a line is invalid; names the line
 */
export async function readRecordingFile(path: string): Promise<Recording> {
  return readRecording(await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  try {
    // Opening a pipe without a writer would block.
    await using file = await openFile(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await file.stat();
    if (!stats.isFile()) throw new RecordingError(`${path} must be a regular file`);
    if (stats.size > longestFile) {
      throw new RecordingError(
        `${path}: it has ${stats.size} bytes; recordings of up to ${longestFile} are read`,
      );
    }
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new RecordingError(`${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** @throws {RecordingFileError} the file cannot be created */
function refuseUnwritable(directory: string): void {
  try {
    accessSync(directory, constants.W_OK);
  } catch (error) {
    const { message } = error as Error;
    throw new RecordingFileError(
      `${JSON.stringify(directory)} is no directory that can be written to: ${message}`,
      { cause: error },
    );
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function freshName(): string {
  return `${freshStem()}.jsonl`;
}

/** Generates a file name from the time and the process. */
function freshStem(): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return `session-${time}-${process.pid}`;
}

function open(path: string): number {
  // A device exists already, but contains nothing to overwrite.
  const isDevice = statSync(path, { throwIfNoEntry: false })?.isCharacterDevice() ?? false;
  try {
    const descriptor = openSync(path, isDevice ? 'w' : 'wx', 0o600);
    if (!isStdout(descriptor)) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fault =
      code === 'EEXIST'
        ? 'is there already, and a recording overwrites nothing: name another file, or a directory, which gets a new file each time'
        : `cannot be made: ${message}`;
    throw new RecordingFileError(`${JSON.stringify(path)} ${fault}`, { cause: error });
  }
  throw new RecordingFileError(
    `${JSON.stringify(path)} is this process's stdout, which carries the protocol; name another file`,
  );
}

function isStdout(descriptor: number): boolean {
  const [file, stdout] = [fstatSync(descriptor), fstatSync(1)];
  return file.dev === stdout.dev && file.ino === stdout.ino;
}

/** Writes all bytes; a single write may be partial, for example on a nearly full disk. */
function writeWhole(descriptor: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
}

/** Options of recording HTTP sessions, one file each. */
export interface RecordedSessionsOptions extends RecordOptions {
  /** Receives the reason why a session is not recorded. Default: stderr. */
  readonly report?: Report<'recording.failed'>;
}

/** Maximum number of concurrent recordings, because each keeps its file open. */
const maxOpen = 256;

/**
 * Creates a recorder per session, as `environment` of an HTTP server. A session whose file cannot be created is served
 * without recording, with a log line.
 *
 * @param path a directory, which gets a file for each session; or the name of the files, each of
 *   which gets the session's number: `session.jsonl` makes `session-1.jsonl`, `session-2.jsonl` …
 * @throws {RecordingFileError} files cannot be created there
 */
export function recordSessions(
  path: string,
  { report = defaultReport, ...options }: RecordedSessionsOptions = {},
): () => Recorder | undefined {
  const nameOf = namesIn(path);
  let count = 0;
  let open = 0;
  return () => {
    count++;
    try {
      if (open >= maxOpen) throw new RecordingFileError(`${maxOpen} sessions are being recorded`);
      const recorder = recordIntoFile(nameOf(count), options, () => void open--);
      open++;
      return recorder;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `Session ${count} is not recorded: ${why}`;
      report({ level: 'error', name: 'recording.failed', message, details: { error } });
      return undefined;
    }
  };
}

/** File name of the n-th session. */
function namesIn(path: string): (session: number) => string {
  const isFolder = isDirectory(path);
  const { dir, name, ext } = parse(path);
  const directory = isFolder ? path : dir === '' ? '.' : dir;
  refuseUnwritable(directory);
  const stem = isFolder ? join(path, freshStem()) : join(dir, name);
  return (session) => `${stem}-${session}${isFolder ? '.jsonl' : ext}`;
}
