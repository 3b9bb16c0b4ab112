/** Recordings as files. For Node. */
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

/** The file cannot be recorded into; the message says why. */
export class RecordingFileError extends Error {
  override readonly name = 'RecordingFileError';
}

/** The largest file that we read, bytes; V8's longest string is a little longer. */
const longestFile = 511 * 1024 ** 2;

/**
 * Records one session into a file, as `listen`'s option `environment:
 * recordToFile('session.jsonl')`. Only its owner can read the file. The recorder writes at the end
 * of each turn of the event loop and before the process exits, so that a killed process loses at
 * most one turn.
 *
 * @param path a file that does not exist yet, or a directory, which gets a new file named after the
 * time and the process
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

/** @param closed called once, when the file is closed */
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

/** What they have not written yet is written before the process exits. */
const unfinished = new Set<{ flush(): void }>();

function finish(): void {
  for (const recorder of unfinished) recorder.flush();
}

/**
 * Reads a recording or a transcript from a file.
 *
 * @throws {RecordingError} the file cannot be read, or a line is wrong; the message names the line
 */
export async function readRecordingFile(path: string): Promise<Recording> {
  return readRecording(await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  try {
    // Opening a pipe that nobody writes to would block.
    await using file = await openFile(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await file.stat();
    if (!stats.isFile()) throw new RecordingError(`${path}: it is not a regular file`);
    if (stats.size > longestFile) {
      throw new RecordingError(
        `${path}: it has ${stats.size} bytes; recordings of up to ${longestFile} are read`,
      );
    }
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new RecordingError(`${path}: it cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** @throws {RecordingFileError} no file can be made there */
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

/** Named after the time and the process. */
function freshStem(): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return `session-${time}-${process.pid}`;
}

function open(path: string): number {
  // A device exists already, and there is nothing in it to overwrite.
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

/** A single write may take only a part, for example when the disk is nearly full. */
function writeWhole(descriptor: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
}

/** How sessions over HTTP are recorded, a file each. */
export interface RecordedSessionsOptions extends RecordOptions {
  /** Hears why a session is not recorded; by default stderr. */
  readonly report?: Report<'recording.failed'>;
}

/** How many are recorded at once: each has its file open. */
const maxOpen = 256;

/**
 * Gives each session a recorder: as `environment` of a server over HTTP. A session whose file cannot
 * be made is served without; that is reported.
 *
 * @param path a directory, which gets a file for each session; or the name of the files, each of
 *   which gets the session's number: `session.jsonl` makes `session-1.jsonl`, `session-2.jsonl` …
 * @throws {RecordingFileError} no file could be made there
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
      const message = `Session ${count} is served and not recorded: ${why}`;
      report({ level: 'error', name: 'recording.failed', message, details: { error } });
      return undefined;
    }
  };
}

/** How the file of the n-th session is called. */
function namesIn(path: string): (session: number) => string {
  const isFolder = isDirectory(path);
  const { dir, name, ext } = parse(path);
  const directory = isFolder ? path : dir === '' ? '.' : dir;
  refuseUnwritable(directory);
  const stem = isFolder ? join(path, freshStem()) : join(dir, name);
  return (session) => `${stem}-${session}${isFolder ? '.jsonl' : ext}`;
}
