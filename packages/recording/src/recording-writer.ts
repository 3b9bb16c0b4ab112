/**
 * Writes the lines of a recording: redacted, size-limited, in batches. A write error is reported once and ends the
 * recording; the session continues.
 */
import { textOfError } from '../../../src/protocol/errors.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { closingChart } from '../../../src/server/closing.machine.ts';
import { defaultRecordingBytes } from './format.ts';
import { redactText } from '../../diagnostics/src/redaction.ts';
import { isSecretKey, withoutGiven } from '../../diagnostics/src/secrets.ts';

/** Log facts of a recorder. */
export type RecordingFactName =
  /** Writing failed and the recording ended; the session continues. */
  | 'recording.failed'
  /** The recording has reached its size limit; the session continues. */
  | 'recording.stopped';

/** Destination of a recording. */
export interface RecordingSink {
  /** Receives whole lines. If it throws, the recording ends, not the session. */
  write(text: string): void;
  /** Called once, after the last write. */
  close?(): void;
}

/** Size limit and redaction of a recording. */
export interface RecordingOptions {
  /** Size limit, bytes. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Redacts secrets. Default: true. */
  readonly redact?: boolean;
}

/** Maximum batch of lines within one event-loop turn, characters. */
const maxBatch = 64 * 1024;
/** Bytes reserved for the last line, which records the stop. */
const lastLineBytes = 256;

/** Members that may contain secrets. The session generates all others. */
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
  #closing = closingChart.initial;

  constructor(
    sink: RecordingSink,
    { maxBytes = defaultRecordingBytes, redact = true }: RecordingOptions,
  ) {
    if (!(maxBytes > 0)) throw new RangeError(`maxBytes must be positive, got ${maxBytes}`);
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#redactor = redact ? new Redactor() : undefined;
  }

  get isRedacted(): boolean {
    return this.#redactor !== undefined;
  }

  /** Adds texts to redact, if redaction is on. */
  conceal(secrets: readonly string[]): void {
    this.#redactor?.conceal(secrets);
  }

  /** Sets the recipient of log facts. */
  reportTo(report: Report<RecordingFactName>): void {
    this.#report = report;
  }

  /** Adds a line, unless the recording has ended. Never throws. */
  put(line: object): void {
    if (this.#closing.value === 'closed') return;
    let text: string;
    try {
      text = this.#textOf(line);
    } catch (error) {
      // The line is too deep or too long for JSON. Later lines would not replay without it.
      return this.#stop(line, `a line cannot be written: ${textOfError(error).slice(0, 100)}`);
    }
    const bytes = bytesOf(text);
    if (this.#written + bytes > this.#maxBytes - lastLineBytes) {
      return this.#stop(line, `the limit of ${this.#maxBytes} bytes is reached`);
    }
    this.#written += bytes;
    if (this.#batch === '') afterTurn(() => this.flush());
    this.#batch += text;
    if (this.#batch.length > maxBatch) this.flush();
  }

  /** Writes the lines of the current turn. */
  flush(): void {
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
        message: `Recording stopped by a write error, the session continues: ${textOfError(error)}`,
        details: { error },
      });
    }
  }

  close(): void {
    this.flush();
    this.#end();
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
    if (this.#closing.value === 'closed') return;
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
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

/** Runs a callback before the event loop polls for input, if the platform supports it. */
const afterTurn: (callback: () => void) => void =
  typeof setImmediate === 'function'
    ? (callback) => void setImmediate(callback)
    : (callback) => void setTimeout(callback, 0);

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return /^\p{ASCII}*$/u.test(text) ? text.length : encoder.encode(text).length;
}

/** Maximum number of distinct placeholders; later secrets share one. */
const maxSecrets = 10_000;

/**
 * Redacts secrets so that the recording still replays: equal secrets get equal placeholders, and only strings and numbers
 * are replaced.
 */
export class Redactor {
  readonly #places = new Map<string | number, string>();
  #given: readonly string[] = [];

  /** Adds texts to redact wherever they occur. */
  conceal(given: readonly string[]): void {
    this.#given = given;
  }

  /**
   * Serializes a value without its secrets; undefined if JSON cannot represent it, such as a function.
   *
   * @throws what `JSON.stringify` throws, such as for a value that nests too deep
   */
  json(value: unknown): string | undefined {
    /** Objects and arrays whose key names a secret. */
    const secretive = new Set<unknown>();
    const shown = (holder: unknown, key: string, item: unknown): unknown => {
      const isSecret = secretive.has(holder) || (!Array.isArray(holder) && isSecretKey(key));
      if (typeof item === 'string') return isSecret ? this.#place(item) : this.#text(item);
      if (typeof item === 'number') return isSecret ? this.#place(item) : item;
      if (typeof item !== 'object' || item === null) return item;
      const copy = this.#withoutSecretNames(item);
      // `password: {type: 'string'}` is a schema without a secret.
      if (isSecret && !isSchema(item)) secretive.add(copy);
      return copy;
    };
    return JSON.stringify(value, function (this: unknown, key: string, item: unknown) {
      return shown(this, key, item);
    });
  }

  #text(text: string): string {
    const place = (secret: string): string => this.#place(secret);
    return redactText(withoutGiven(text, this.#given, place), Infinity, place);
  }

  /** Returns the object, or a copy if a member's name contains a secret. */
  #withoutSecretNames(value: object): object {
    const names = Array.isArray(value) ? [] : Object.keys(value);
    if (names.every((name) => this.#text(name) === name)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#text(name), item as unknown]),
    );
  }

  #place(secret: string | number): string {
    const known = this.#places.get(secret);
    if (known !== undefined) return known;
    if (this.#places.size >= maxSecrets) return '[redacted]';
    const place = `[redacted ${this.#places.size + 1}]`;
    this.#places.set(secret, place);
    return place;
  }
}

function isSchema(value: object): boolean {
  const { type, $ref } = value as { readonly type?: unknown; readonly $ref?: unknown };
  return Array.isArray(type) || types.has(type) || typeof $ref === 'string';
}

const types = new Set<unknown>([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
