/** The options that go with `--record`: how a recording is bounded and redacted. */
import { defaultRecordingBytes } from 'mcp-actors/recording';
import { UsageError } from '../command.ts';
import type { OptionTable } from './option.ts';
import { size } from './option.ts';

/** What `--record` asks for. */
export interface RecordSettings {
  /** A new file, or a directory. */
  readonly path: string;
  /** Bytes. */
  readonly maxBytes: number | undefined;
  readonly redact: boolean;
}

/** @param of what is recorded */
export const recordOptionsOf = (of: 'session' | 'connection') =>
  ({
    'record-limit': {
      ...size,
      bounds: { ...size.bounds, min: 4096 },
      default: defaultRecordingBytes,
      help: `How much is recorded; then recording stops, and the ${of} goes on.`,
    },
    'record-unredacted': { kind: 'switch', help: 'Record secrets as they are.' },
  }) as const satisfies OptionTable;

/** @throws {UsageError} the options say how to record, but not where */
export function recordWish(values: {
  readonly record: string | undefined;
  readonly 'record-limit': number | undefined;
  readonly 'record-unredacted': boolean;
}): RecordSettings | undefined {
  const { record: path, 'record-limit': maxBytes, 'record-unredacted': unredacted } = values;
  if (path !== undefined) return { path, maxBytes, redact: !unredacted };
  if (maxBytes === undefined && !unredacted) return undefined;
  const given = unredacted ? '--record-unredacted' : '--record-limit';
  throw new UsageError(`${given} says how to record, and nothing says where: add --record FILE`);
}
