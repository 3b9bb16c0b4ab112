/** Recordings as files. For Node. */
import { closeSync, constants, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { record } from './recorder.ts';
import type { RecordOptions, Recorder } from './recorder.ts';
import { RecordingError, readRecording } from './recording.ts';
import type { Recording } from './recording.ts';

/** A file that nothing can be recorded into. */
export class RecordingFileError extends Error {
  override readonly name = 'RecordingFileError';
}

/** The longest file that is read, bytes: below V8's longest string. */
const longestFile = 511 * 1024 ** 2;

/**
 * Records one session into a file: `server.listen(transport, { edge: recordToFile('session.jsonl') })`. The file is its owner's alone. What one turn of the event
 * loop has brought is written at its end, and before the process exits, so that a process which is killed loses no more than a turn.
 *
 * @param path a file that is not there yet, or a directory, which gets a new file named by time and process
 * @throws {RecordingFileError} it is there already, or cannot be made
 */
export function recordToFile(path: string, options: RecordOptions = {}): Recorder {
  const descriptor = open(isDirectory(path) ? join(path, freshName()) : path);
  const finish = () => recorder.flush();
  process.on('exit', finish);
  const recorder = record(
    {
      write: (text) => writeWhole(descriptor, text),
      close: () => {
        process.off('exit', finish);
        closeSync(descriptor);
      },
    },
    { ...options, header: { platform: `Node ${process.versions.node}`, ...options.header } },
  );
  return recorder;
}

/**
 * Reads a recording, or a transcript.
 *
 * @throws {RecordingError} what is wrong, in which line
 */
export async function readRecordingFile(path: string): Promise<Recording> {
  return readRecording(await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  try {
    // A pipe that nobody writes to would hold up the opening.
    await using file = await openFile(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await file.stat();
    if (!stats.isFile()) throw new RecordingError(`${path}: it is no regular file`);
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

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function freshName(): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return `session-${time}-${process.pid}.jsonl`;
}

function open(path: string): number {
  // A device cannot be made anew, and nothing in it is overwritten.
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

/** A write may take a part only, as where the disk is nearly full. */
function writeWhole(descriptor: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
}
