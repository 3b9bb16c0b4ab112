/** Writes the lines of a recording: redacted, bounded, a batch at a time. What goes wrong with it is said once, and ends the recording alone. */
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import { defaultRecordingBytes } from './recording-limit.ts';
import { Redactor } from './redactor.ts';

/** What a recorder reports to its session's host. */
export type RecordingFactName =
  /** A recording could not be written any further; the session goes on. */
  | 'recording.failed'
  /** A recording has reached its limit. */
  | 'recording.stopped';

/** Takes the text of a recording. */
export interface RecordingSink {
  /** Takes whole lines. What it throws ends the recording, not the session. */
  write(text: string): void;
  /** Nothing more comes. */
  close?(): void;
}

export interface RecordingOptions {
  /** How much is recorded, bytes; by default 64 MiB. */
  readonly maxBytes?: number;
  /** False records secrets as they are. */
  readonly redact?: boolean;
}

/** Held back at most, characters: lines that are made in one turn of the event loop go out together. */
const maxBatch = 64 * 1024;
/** What the last line takes, which says that recording has stopped. */
const lastLineBytes = 256;

/** What of a line may hold secrets; the rest is the session's own. */
const payloads = new Set([
  'client',
  'frames',
  'server',
  'write',
  'params',
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
]);

export class RecordingBook {
  readonly #sink: RecordingSink;
  readonly #maxBytes: number;
  readonly #redactor: Redactor | undefined;
  #report: Report<RecordingFactName> = () => {};
  #batch = '';
  #written = 0;
  /** `planned`: what is held back goes out at the turn's end. Once it has ended, lines are let go. */
  #state: 'idle' | 'planned' | 'ended' = 'idle';

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

  /** Sets who hears of failures. */
  reportTo(report: Report<RecordingFactName>): void {
    this.#report = report;
  }

  /** Never throws. */
  put(line: object): void {
    if (this.#state !== 'ended') this.#write(line);
  }

  /** Hands over what is held back. */
  flush(): void {
    if (this.#state === 'planned') this.#state = 'idle';
    const text = this.#batch;
    if (text === '') return;
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

  #write(line: object): void {
    let text: string;
    try {
      text = this.#textOf(line);
    } catch (error) {
      // Too deep or too long for JSON: what comes after it would not replay without it.
      return this.#stop(line, `a line cannot be written: ${textOfError(error).slice(0, 100)}`);
    }
    const bytes = bytesOf(text);
    if (this.#written + bytes > this.#maxBytes - lastLineBytes) {
      return this.#stop(line, `the limit of ${this.#maxBytes} bytes is reached`);
    }
    this.#written += bytes;
    this.#append(text);
  }

  #append(text: string): void {
    this.#batch += text;
    if (this.#batch.length > maxBatch) this.flush();
    else if (this.#state === 'idle') this.#planFlush();
  }

  #planFlush(): void {
    this.#state = 'planned';
    afterTurn(() => this.flush());
  }

  #stop(line: object, message: string): void {
    const { at } = line as { readonly at?: number };
    this.#append(`${JSON.stringify({ at, stopped: message })}\n`);
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

/** Before the event loop looks for input again, where the platform can say so. */
const afterTurn: (callback: () => void) => void =
  typeof setImmediate === 'function'
    ? (callback) => void setImmediate(callback)
    : (callback) => void setTimeout(callback, 0);

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return /^\p{ASCII}*$/u.test(text) ? text.length : encoder.encode(text).length;
}
