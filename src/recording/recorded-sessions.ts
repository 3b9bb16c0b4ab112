/** Records sessions that begin one after the other, each into a file of its own. For Node. */
import { join, parse } from 'node:path';
import type { Report } from '../actors/facts.ts';
import {
  RecordingFileError,
  freshStem,
  isDirectory,
  recordIntoFile,
  refuseUnwritable,
} from './recording-file.ts';
import type { RecordOptions, Recorder } from './recorder.ts';

/** How sessions over HTTP are recorded, a file each. */
export interface RecordedSessionsOptions extends RecordOptions {
  /** Hears why a session is not recorded. */
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
  { report = () => {}, ...options }: RecordedSessionsOptions = {},
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
