/**
 * Log messages from handlers to their client, filtered by the client's level and rate-limited.
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

/** Options of `ServerDefinition.logging`. */
export interface LoggingOptions {
  /** Level until the client sets one. Default: `info`. */
  readonly level?: LogLevel;
}

/** Names of the facts reported by the client log. */
export type LogFactName =
  /** Log messages were dropped: rate limit, not serializable, or `logging` is not declared. */
  'log.unsent';

/** Logs a message to the client. Never throws. */
export type LogMethod = (data: unknown, logger?: string) => void;

/**
 * One method per level; use `log[level](data)` for a dynamic level. `data` is any JSON value; an
 * `Error` is sent as its name and message. Data is sent unredacted, so it must not contain secrets,
 * personal data or internals that help an attacker.
 */
export type HandlerLog = { readonly [level in LogLevel]: LogMethod };

/** Sink of the log messages of a session's handlers. */
export interface ClientLog {
  write(call: RequestContext, level: LogLevel, data: unknown, logger: string | undefined): void;
}

/** Creates the log of one call. */
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

/** Messages dropped since the rate limit was reached. */
interface Omission {
  /** Call of the first dropped message. */
  readonly call: RequestContext;
  readonly timer: unknown;
  count: number;
  /** Highest severity among the dropped messages. */
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

  /** @param options `level`: initial level, until the client sets one */
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

  /** Drops messages below this level from now on. */
  setLevel(level: LogLevel): void {
    this.#level = level;
  }

  write(call: RequestContext, level: LogLevel, data: unknown, logger: string | undefined): void {
    if (call.hasEnded || !this.#isWanted(call, level)) return;
    if (!this.#isBelowLimit()) return this.#omit(call, level);
    this.#sent++;
    const params = {
      level,
      ...(logger === undefined ? {} : { logger }),
      // "data" is required, and JSON would omit an undefined value.
      data: data instanceof Error ? describeError(data) : (data ?? null),
    };
    call.notify(Method.logMessage, params, this.#delivery);
  }

  readonly #delivery: DeliveryRecipient = {
    send: (event) => {
      if (event.type !== 'frame.rejected') return;
      const message = `A log message to the client was dropped: it is not serializable as JSON: ${textOfError(event.error)}`;
      this.#report({ level: 'warning', name: 'log.unsent', message });
    },
  };

  /** Stops the timer at the end of the session. */
  stop(): void {
    this.#clock.clearTimeout(this.#omitted?.timer);
    this.#omitted = undefined;
  }

  /** The level of the request takes precedence over that of the session. */
  #isWanted({ request: { logLevel = this.#level } }: RequestContext, level: LogLevel): boolean {
    return logLevel !== 'none' && isAtLeast(level, logLevel);
  }

  #isBelowLimit(): boolean {
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

  /** Sends one summary of the dropped messages, at their highest severity. */
  #summarize(): void {
    if (!this.#omitted) return;
    const { call, count, level } = this.#omitted;
    this.#omitted = undefined;
    const message = `${count} log messages were dropped: the limit is ${this.#maxPerSecond} per second (maxLogsPerSecond)`;
    this.#report({ level: 'warning', name: 'log.unsent', message });
    if (!this.#isWanted(call, level)) return;
    const params = { level, logger: 'mcp-actors', data: { message, omitted: count } };
    call.announce(Method.logMessage, params);
  }
}

/** Omits the stack, which would expose internals. */
function describeError({ name, message }: Error) {
  return { name, message };
}

/** The log of a server without `logging`: drops all messages and reports the first. */
export function unavailableLog(report: Report<LogFactName>): ClientLog {
  let isReported = false;
  return {
    write: () => {
      if (isReported) return;
      isReported = true;
      const message =
        'Log messages to the client are dropped: the server definition has no "logging". Add "logging: {}"';
      report({ level: 'warning', name: 'log.unsent', message });
    },
  };
}
