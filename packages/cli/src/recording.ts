/** `--record`: records served sessions into files. Loaded on demand. */
import { recordConnectionToFile, recordSessions, recordToFile } from 'mcp-actors/recording';
import { RecordingFileError } from 'mcp-actors/recording';
import type { ConnectionRecorder, Recorder, RecordOptions } from 'mcp-actors/recording';
import type { JsonObject, Report } from 'mcp-actors';
import { UsageError, packageVersion } from './command.ts';
import type { RecordSettings } from './options/record-options.ts';

/** @throws {UsageError} the file exists already or cannot be created */
export function recordOne(wish: RecordSettings, launch: JsonObject): Recorder {
  return asUsageErrors(() => recordToFile(wish.path, optionsOf(wish, launch)));
}

/**
 * Creates a recorder with its own file for each session.
 *
 * @throws {UsageError} if files cannot be created there
 */
export function recordEach(
  wish: RecordSettings,
  launch: JsonObject,
  report: Report<'recording.failed'>,
): () => Recorder | undefined {
  return asUsageErrors(() => recordSessions(wish.path, { ...optionsOf(wish, launch), report }));
}

/** Creates the recorder of a host's connection. */
export type RecordConnection = typeof recordingConnection;

/** @throws {UsageError} the file exists already or cannot be created */
export function recordingConnection(wish: RecordSettings): ConnectionRecorder {
  return asUsageErrors(() => recordConnectionToFile(wish.path, optionsOf(wish)));
}

function optionsOf({ maxBytes, redact }: RecordSettings, launch?: JsonObject): RecordOptions {
  return {
    ...(maxBytes === undefined ? {} : { maxBytes }),
    redact,
    header: { package: packageVersion(), ...(launch ? { launch } : {}) },
  };
}

function asUsageErrors<T>(begin: () => T): T {
  try {
    return begin();
  } catch (error) {
    if (!(error instanceof RecordingFileError)) throw error;
    throw new UsageError(`--record: ${error.message}`, { cause: error });
  }
}
