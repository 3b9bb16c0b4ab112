/** Options of `--record` for the size and redaction of a recording. */
import { defaultRecordingBytes } from 'mcp-actors/recording';
import { UsageError } from '../command.ts';
import type { OptionTable } from './option.ts';
import { size } from './option.ts';

/** Settings of `--record`. */
export interface RecordSettings {
  /** New file or directory. */
  readonly path: string;
  /** Size limit, bytes. */
  readonly maxBytes: number | undefined;
  readonly redact: boolean;
}

/**
 * Creates the options.
 *
 * @param of kind of recording
 */
export const recordOptionsOf = (of: 'session' | 'connection') =>
  ({
    'record-limit': {
      ...size,
      bounds: { ...size.bounds, min: 4096 },
      default: defaultRecordingBytes,
      help: `Maximum size of the recording. Beyond it, recording stops and the ${of} continues.`,
    },
    'record-unredacted': { kind: 'switch', help: 'Record secrets unredacted.' },
  }) as const satisfies OptionTable;

/**
 * Reads the settings; undefined without `--record`.
 *
 * @throws {UsageError} if an option needs `--record`
 */
export function readRecordSettings(values: {
  readonly record: string | undefined;
  readonly 'record-limit': number | undefined;
  readonly 'record-unredacted': boolean;
}): RecordSettings | undefined {
  const { record: path, 'record-limit': maxBytes, 'record-unredacted': unredacted } = values;
  if (path !== undefined) return { path, maxBytes, redact: !unredacted };
  if (maxBytes === undefined && !unredacted) return undefined;
  const given = unredacted ? '--record-unredacted' : '--record-limit';
  throw new UsageError(`${given} needs --record FILE`);
}
