/**
 * The log messages that a session's handlers send to their client: only those at or above the level
 * that the client wants, and only so many a second.
 *
 * @see MCP 2025-11-25, server/utilities/logging
 */
import type { DeliveryRecipient } from '../../actors/request-context.ts';
import type { RequestContext } from '../../actors/request-context.ts';
import type { Clock } from '../../actors/clock.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { Report } from '../../actors/facts.ts';
import { isAtLeast } from '../../protocol/log-levels.ts';
import type { LogLevel } from '../../protocol/log-levels.ts';
import { Method } from '../../protocol/methods.ts';

/** How a server logs to its clients; see `ServerDefinition.logging`. */
export interface LoggingOptions {
  /** The level until the client sets one; by default `info`. */
  readonly level?: LogLevel;
}

/** The names of the facts that the log to the client reports. */
export type LogFactName =
  /**
   * Log messages were not sent: too many, not representable in JSON, or `logging` is not declared.
   */
  'log.unsent';

/** Logs to the client. Never throws. */
export type LogMethod = (data: unknown, logger?: string) => void;

/**
 * A method for each level; if the level is a value, `log[level](data)`. `data` is anything that
 * JSON can represent; an `Error` is sent as its name and message. The client gets it unredacted: it
 * must not contain secrets, data that identifies a person, or anything that helps an attacker.
 */
export type HandlerLog = { readonly [level in LogLevel]: LogMethod };

/** Takes the log messages of a session's handlers. */
export interface ClientLog {
  write(call: RequestContext, level: LogLevel, data: unknown, logger: string | undefined): void;
}

/** The log as one call's handler sees it. */
export function logOf(call: RequestContext, log: ClientLog): HandlerLog {
  const at =
    (level: LogLevel): LogMethod =>
    (data, logger) =>
      log.write(call, level, data, logger);
  return {
    debug: at('debug'),
    info: at('info'),
    notice: at('notice'),
    warning: at('warning'),
    error: at('error'),
    critical: at('critical'),
    alert: at('alert'),
    emergency: at('emergency'),
  };
}

const windowMs = 1000;

/** The messages that were left out since the limit was reached. */
interface Omission {
  /** The call that logged the first of them. */
  readonly call: RequestContext;
  readonly timer: unknown;
  count: number;
  /** The level of the most severe one. */
  level: LogLevel;
}

export class SessionLog implements ClientLog {
  readonly #clock: Clock;
  readonly #report: Report<LogFactName>;
  readonly #maxPerSecond: number;
  #level: LogLevel;
  #windowStart = -Infinity;
  #sent = 0;
  #omitted: Omission | undefined;

  /** @param options `level`: the level until the client sets one */
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

  /** From now on, messages below this level are not sent. */
  setLevel(level: LogLevel): void {
    this.#level = level;
  }

  write(call: RequestContext, level: LogLevel, data: unknown, logger: string | undefined): void {
    if (call.hasEnded || !this.#isWanted(call, level)) return;
    if (!this.#hasRoom()) return this.#omit(call, level);
    this.#sent++;
    const params = {
      level,
      ...(logger === undefined ? {} : { logger }),
      // JSON leaves out a member that is undefined, and every message must have one.
      data: data instanceof Error ? describeError(data) : (data ?? null),
    };
    call.notify(Method.logMessage, params, this.#delivery);
  }

  readonly #delivery: DeliveryRecipient = {
    send: (event) => {
      if (event.type !== 'frame.rejected') return;
      const message = `A log message cannot be written as JSON: ${textOfError(event.error)}`;
      this.#report({ level: 'warning', name: 'log.unsent', message });
    },
  };

  /** Call it at the end of the session. */
  stop(): void {
    this.#clock.clearTimeout(this.#omitted?.timer);
    this.#omitted = undefined;
  }

  /** A level that the request names takes precedence over the session's. */
  #isWanted({ request: { logLevel = this.#level } }: RequestContext, level: LogLevel): boolean {
    return logLevel !== 'none' && isAtLeast(level, logLevel);
  }

  #hasRoom(): boolean {
    const now = this.#clock.now();
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#sent = 0;
    }
    return this.#sent < this.#maxPerSecond;
  }

  #omit(call: RequestContext, level: LogLevel): void {
    if (!this.#omitted) {
      const leftMs = this.#windowStart + windowMs - this.#clock.now();
      const timer = this.#clock.setTimeout(() => this.#summarize(), leftMs);
      this.#omitted = { call, timer, count: 0, level };
    }
    const omitted = this.#omitted;
    omitted.count++;
    if (isAtLeast(level, omitted.level)) omitted.level = level;
  }

  /** Sends one message for all that were left out, at the level of the most severe one. */
  #summarize(): void {
    if (!this.#omitted) return;
    const { call, count, level } = this.#omitted;
    this.#omitted = undefined;
    const message = `${count} log messages were left out: ${this.#maxPerSecond} are sent within ${windowMs} ms`;
    this.#report({ level: 'warning', name: 'log.unsent', message });
    if (!this.#isWanted(call, level)) return;
    const params = { level, logger: 'mcp-actors', data: { message, omitted: count } };
    call.announce(Method.logMessage, params);
  }
}

/** Leaves out the stack, which shows the server's internals. */
function describeError({ name, message }: Error) {
  return { name, message };
}

/**
 * The log of a server that has not declared logging: it sends nothing, and reports the first
 * attempt.
 */
export function undeclaredLog(report: Report<LogFactName>): ClientLog {
  let isReported = false;
  return {
    write: () => {
      if (isReported) return;
      isReported = true;
      const message =
        'A handler has logged to the client, but the server is defined without "logging": nothing is sent';
      report({ level: 'warning', name: 'log.unsent', message });
    },
  };
}
