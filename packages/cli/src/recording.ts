/** `--record`: what a served session does, in files. Its modules are loaded on demand. */
import { recordConnectionToFile, recordSessions, recordToFile } from 'mcp-actors/recording';
import { RecordingFileError } from 'mcp-actors/recording';
import type { ConnectionRecorder, Recorder, RecordOptions } from 'mcp-actors/recording';
import type { JsonObject, Report } from 'mcp-actors';
import { UsageError, packageVersion } from './command.ts';
import type { RecordSettings } from './options/record-options.ts';

/** @throws {UsageError} the file exists already or cannot be created */
export function recordOne(wish: RecordSettings, launch: JsonObject): Recorder {
  return refusing(() => recordToFile(wish.path, optionsOf(wish, launch)));
}

/**
 * Gives each session that begins a recorder with a file of its own.
 *
 * @throws {UsageError} no file can be made there
 */
export function recordEach(
  wish: RecordSettings,
  launch: JsonObject,
  report: Report<'recording.failed'>,
): () => Recorder | undefined {
  return refusing(() => recordSessions(wish.path, { ...optionsOf(wish, launch), report }));
}

/** Makes the recorder of one connection of a host. */
export type RecordConnection = typeof recordingConnection;

/** @throws {UsageError} the file exists already or cannot be created */
export function recordingConnection(wish: RecordSettings): ConnectionRecorder {
  return refusing(() => recordConnectionToFile(wish.path, optionsOf(wish)));
}

function optionsOf({ maxBytes, redact }: RecordSettings, launch?: JsonObject): RecordOptions {
  return {
    ...(maxBytes === undefined ? {} : { maxBytes }),
    redact,
    header: { package: packageVersion(), ...(launch ? { launch } : {}) },
  };
}

function refusing<T>(begin: () => T): T {
  try {
    return begin();
  } catch (error) {
    if (!(error instanceof RecordingFileError)) throw error;
    throw new UsageError(`--record: ${error.message}`, { cause: error });
  }
}
