/**
 * The log messages that a session's handlers send to their client: those at or above the level that the client wants, so many a second.
 *
 * @see MCP 2025-11-25, server/utilities/logging
 */
import type { Exchange } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../actors/facts.ts';
import { Method } from '../protocol/methods.ts';

/** From the least severe to the most, as in RFC 5424. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type LogLevel = (typeof logLevels)[number];

/** What a server says of its log messages; see `ServerDefinition.logging`. */
export interface LoggingOptions {
  /** What is sent until the client says which level it wants; by default `info`. */
  readonly level?: LogLevel;
}

/** What the log to the client reports. */
export type LogFactName =
  /** Log messages for the client that were not sent: too many, or not expressible, or not declared. */
  'log.unsent';

/** Says something to the client's log. Never throws. */
export type LogMethod = (data: unknown, logger?: string) => void;

/**
 * A method for each level; `log[level](data)` where the level is a value. `data` is anything that JSON can hold; an `Error` is sent as its name
 * and message. It goes to the client as it is: it must hold no secrets, nothing that identifies a person, and nothing that helps an attacker.
 */
export type HandlerLog = { readonly [level in LogLevel]: LogMethod };

/** Where the log messages of a session's handlers go. */
export interface LogSink {
  write(call: Exchange, level: LogLevel, data: unknown, logger: string | undefined): void;
}

/** The log as one call's handler sees it. */
export function logOf(call: Exchange, sink: LogSink): HandlerLog {
  const methods = logLevels.map((level): [LogLevel, LogMethod] => [
    level,
    (data, logger) => sink.write(call, level, data, logger),
  ]);
  return Object.fromEntries(methods) as HandlerLog;
}

const windowMs = 1000;

/** How severe a message is. */
const severityOf = (level: LogLevel) => logLevels.indexOf(level);

/** What was left out since the limit was reached. */
interface Omission {
  /** The first of them. */
  readonly call: Exchange;
  readonly timer: unknown;
  count: number;
  /** The most severe of them. */
  level: LogLevel;
}

export class SessionLog implements LogSink {
  readonly #clock: Clock;
  readonly #report: Report<LogFactName>;
  readonly #maxPerSecond: number;
  #level: LogLevel;
  #windowStart = -Infinity;
  #sent = 0;
  #omitted: Omission | undefined;

  /** @param level what is sent until the client says which level it wants */
  constructor(options: {
    readonly level: LogLevel;
    readonly maxLogsPerSecond: number;
    readonly clock: Clock;
    readonly report: Report<LogFactName>;
  }) {
    this.#level = options.level;
    this.#maxPerSecond = options.maxLogsPerSecond;
    this.#clock = options.clock;
    this.#report = options.report;
  }

  /** From now on messages below this level are not sent. */
  setLevel(level: LogLevel): void {
    this.#level = level;
  }

  write(call: Exchange, level: LogLevel, data: unknown, logger: string | undefined): void {
    if (call.hasEnded || !this.#isWanted(level)) return;
    if (!this.#hasRoom()) return this.#omit(call, level);
    this.#sent++;
    const params = {
      level,
      ...(logger === undefined ? {} : { logger }),
      // `undefined` would leave the member out, and every message has one.
      data: data instanceof Error ? describeError(data) : (data ?? null),
    };
    call.notify(Method.logMessage, params, (error) =>
      this.#report({
        level: 'warning',
        name: 'log.unsent',
        message: `A log message cannot be written as JSON: ${textOfError(error)}`,
      }),
    );
  }

  /** Forgets what was left out: the session has ended. */
  stop(): void {
    this.#clock.clearTimeout(this.#omitted?.timer);
    this.#omitted = undefined;
  }

  #isWanted(level: LogLevel): boolean {
    return severityOf(level) >= severityOf(this.#level);
  }

  #hasRoom(): boolean {
    const now = this.#clock.now();
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#sent = 0;
    }
    return this.#sent < this.#maxPerSecond;
  }

  #omit(call: Exchange, level: LogLevel): void {
    if (!this.#omitted) {
      const leftMs = this.#windowStart + windowMs - this.#clock.now();
      const timer = this.#clock.setTimeout(() => this.#summarize(), leftMs);
      this.#omitted = { call, timer, count: 0, level };
    }
    const omitted = this.#omitted;
    omitted.count++;
    if (severityOf(level) > severityOf(omitted.level)) omitted.level = level;
  }

  /** One message for all that were left out, as severe as the most severe of them. */
  #summarize(): void {
    if (!this.#omitted) return;
    const { call, count, level } = this.#omitted;
    this.#omitted = undefined;
    const message = `${count} log messages were left out: ${this.#maxPerSecond} are sent within ${windowMs} ms`;
    this.#report({ level: 'warning', name: 'log.unsent', message });
    if (!this.#isWanted(level)) return;
    const params = { level, logger: 'mcp-actors', data: { message, omitted: count } };
    call.announce(Method.logMessage, params);
  }
}

/** Without the stack: it tells of the server's insides. */
function describeError({ name, message }: Error) {
  return { name, message };
}

/** Stands where a server has not declared logging: nothing may be sent, and the first attempt is reported. */
export function undeclaredLog(report: Report<LogFactName>): LogSink {
  const complain = () => {
    sink.write = () => {};
    const message =
      'A handler has logged to the client, but the server is defined without "logging": nothing is sent';
    report({ level: 'warning', name: 'log.unsent', message });
  };
  const sink: LogSink = { write: complain };
  return sink;
}
