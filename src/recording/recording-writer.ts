/**
 * Writes the lines of a recording: redacted, bounded, in batches. If writing fails, it says so
 * once; the recording ends, the session goes on.
 */
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import { defaultRecordingBytes } from './format.ts';
import { Redactor } from './redactor.ts';

/** What a recorder reports to its session's host. */
export type RecordingFactName =
  /** The recording can no longer be written; the session goes on. */
  | 'recording.failed'
  /** The recording has reached its limit; the session goes on. */
  | 'recording.stopped';

/** Where a recorder writes. */
export interface RecordingSink {
  /** Takes whole lines. If it throws, the recording ends, not the session. */
  write(text: string): void;
  /** Called once, after the last write. */
  close?(): void;
}

/** How much is recorded, and what is left out of it. */
export interface RecordingOptions {
  /** Recording stops at this size, bytes; by default 64 MiB. */
  readonly maxBytes?: number;
  /** Whether secrets are replaced; by default true. */
  readonly redact?: boolean;
}

/** Lines of one turn of the event loop are written together, up to this many characters. */
const maxBatch = 64 * 1024;
/** Room for the last line, which says that recording has stopped. */
const lastLineBytes = 256;

/** The members that may hold secrets; the session itself makes the others. */
const payloads = new Set([
  'client',
  'frames',
  'server',
  'write',
  'params',
  'value',
  'uri',
  'result',
  'error',
  'thrown',
  'unwritable',
  'roots',
  'describe',
  'withdrawn',
  'shutdown',
  'reason',
  'launch',
  'origin',
  'received',
  'sent',
  'loss',
  'name',
  'clientInfo',
  'capabilities',
  'era',
]);

export class RecordingWriter {
  readonly #sink: RecordingSink;
  readonly #maxBytes: number;
  readonly #redactor: Redactor | undefined;
  #report: Report<RecordingFactName> = () => {};
  #batch = '';
  #written = 0;
  /** `flushing`: there are lines that will be written at the end of the turn. */
  #state: 'idle' | 'flushing' | 'ended' = 'idle';

  constructor(
    sink: RecordingSink,
    { maxBytes = defaultRecordingBytes, redact = true }: RecordingOptions,
  ) {
    if (!(maxBytes > 0)) throw new RangeError(`maxBytes must be positive, this is ${maxBytes}`);
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#redactor = redact ? new Redactor() : undefined;
  }

  get isRedacted(): boolean {
    return this.#redactor !== undefined;
  }

  /** Replaces these texts as secrets from now on, if it replaces any. */
  conceal(secrets: readonly string[]): void {
    this.#redactor?.conceal(secrets);
  }

  /** Reports failures to the session's host from now on. */
  reportTo(report: Report<RecordingFactName>): void {
    this.#report = report;
  }

  /** Adds a line, unless the recording has ended. Never throws. */
  put(line: object): void {
    if (this.#state === 'ended') return;
    let text: string;
    try {
      text = this.#textOf(line);
    } catch (error) {
      // Too deep or too long for JSON. Without this line the lines after it would not replay.
      return this.#stop(line, `a line cannot be written: ${textOfError(error).slice(0, 100)}`);
    }
    const bytes = bytesOf(text);
    if (this.#written + bytes > this.#maxBytes - lastLineBytes) {
      return this.#stop(line, `the limit of ${this.#maxBytes} bytes is reached`);
    }
    this.#written += bytes;
    this.#batch += text;
    if (this.#batch.length > maxBatch) this.flush();
    else this.#planFlush();
  }

  /** Writes the lines of this turn now. */
  flush(): void {
    const text = this.#batch;
    if (text === '') return;
    this.#state = 'idle';
    this.#batch = '';
    try {
      this.#sink.write(text);
    } catch (error) {
      this.#end();
      this.#report({
        level: 'error',
        name: 'recording.failed',
        message: `The recording cannot be written any further, the session goes on without: ${textOfError(error)}`,
        details: { error },
      });
    }
  }

  close(): void {
    this.flush();
    this.#end();
  }

  #planFlush(): void {
    if (this.#state === 'flushing') return;
    this.#state = 'flushing';
    afterTurn(() => this.flush());
  }

  #stop(line: object, message: string): void {
    const { at } = line as { readonly at?: number };
    this.#batch += `${JSON.stringify({ at, stopped: message })}\n`;
    this.close();
    this.#report({
      level: 'warning',
      name: 'recording.stopped',
      message: `Recording has stopped, the session goes on: ${message}`,
    });
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    try {
      this.#sink.close?.();
    } catch (error) {
      this.#report({
        level: 'error',
        name: 'recording.failed',
        message: `The recording could not be closed: ${textOfError(error)}`,
        details: { error },
      });
    }
  }

  #textOf(line: object): string {
    const redactor = this.#redactor;
    if (!redactor) return `${JSON.stringify(line)}\n`;
    const members = Object.entries(line).flatMap(([key, value]: [string, unknown]) => {
      const text = payloads.has(key) ? redactor.json(value) : JSON.stringify(value);
      return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
    });
    return `{${members.join(',')}}\n`;
  }
}

/** Runs it before the event loop looks for input again, if the platform can. */
const afterTurn: (callback: () => void) => void =
  typeof setImmediate === 'function'
    ? (callback) => void setImmediate(callback)
    : (callback) => void setTimeout(callback, 0);

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return /^\p{ASCII}*$/u.test(text) ? text.length : encoder.encode(text).length;
}
