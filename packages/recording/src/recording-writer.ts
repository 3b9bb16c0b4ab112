/**
 * Writes the lines of a recording: redacted, bounded, in batches. If writing fails, it says so
 * once; the recording ends, the session goes on.
 */
import { textOfError } from '../../../src/protocol/errors.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { closingChart } from '../../../src/server/closing.machine.ts';
import { defaultRecordingBytes } from './format.ts';
import { redactText } from '../../diagnostics/src/redaction.ts';
import { isSecretKey, withoutGiven } from '../../diagnostics/src/secrets.ts';

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
  #closing = closingChart.initial;

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
    if (this.#closing.value === 'closed') return;
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
    if (this.#batch === '') afterTurn(() => this.flush());
    this.#batch += text;
    if (this.#batch.length > maxBatch) this.flush();
  }

  /** Writes the lines of this turn now. */
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
        message: `The recording cannot be written any further, the session goes on without: ${textOfError(error)}`,
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

/** Runs it before the event loop looks for input again, if the platform can. */
const afterTurn: (callback: () => void) => void =
  typeof setImmediate === 'function'
    ? (callback) => void setImmediate(callback)
    : (callback) => void setTimeout(callback, 0);

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return /^\p{ASCII}*$/u.test(text) ? text.length : encoder.encode(text).length;
}

/** So many different secrets get placeholders of their own; all later ones share one. */
const maxSecrets = 10_000;

/**
 * Replaces secrets so that the recording still replays: the same secret gets the same placeholder
 * everywhere, and only texts and numbers are replaced.
 */
export class Redactor {
  readonly #places = new Map<string | number, string>();
  #given: readonly string[] = [];

  /** Replaces these texts too from now on, wherever they occur. */
  conceal(given: readonly string[]): void {
    this.#given = given;
  }

  /**
   * The value as JSON without its secrets; undefined if JSON cannot express it, such as a function.
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
      // `password: {type: 'string'}` describes a secret and holds none.
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

  /** The object itself, or a copy if the name of a member contains a secret. */
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
