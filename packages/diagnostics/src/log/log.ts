/** The log: filters facts by level, limits their rate, and writes them to a sink. */
import type { Fact, FactLevel, Report } from '../../../../src/actors/facts.ts';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { LogForm } from './log-line.ts';

/** Levels from most to least detailed; `silent` logs nothing. */
export const logVerbosities = ['debug', 'info', 'warning', 'error', 'silent'] as const;

/** Minimum level of logged facts. */
export type LogThreshold = (typeof logVerbosities)[number];

/** Log facts of a serving process and of its log. */
type CommandFactName =
  /** The server listens on HTTP; names the address. */
  | 'http.listening'
  /** Listening failed; the process ends. */
  | 'http.unavailable'
  /** An actor of the session crashed, which is a bug. */
  | 'session.failed'
  /** stdin closed before any message, and is not a terminal. */
  | 'input.unused'
  /** A signal has ended the session. */
  | 'process.signalled'
  /** Uncaught exception or unhandled rejection. */
  | 'process.failed'
  /** The session exceeded its drain time; the process ends anyway. */
  | 'process.abandoned'
  /** A dump requested by a signal failed. */
  | 'dump.failed'
  /** The rate limit suppressed facts of one name. */
  | 'log.suppressed'
  /** The sink lost some lines. */
  | 'log.lost';

export type CommandFact = Fact<CommandFactName>;

/**
 * Destination of log lines. A sink reports failures only by its return value, so a failure never causes another line.
 */
export interface LineSink {
  /** @returns false if the line is lost */
  write(line: string): boolean;
  /** Resolves once all lines are handed to the operating system, or lost. Never rejects. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogThreshold;
  readonly form: LogForm;
  readonly sink: LineSink;
  /** State of the session; undefined before it starts. */
  readonly state?: () => string | undefined;
}

export interface Log {
  /** Logs a fact, if its level and the rate limit allow it. Never throws. */
  readonly report: Report;
  /** Writes summaries of suppressed facts, and resolves once the sink is flushed. */
  close(): Promise<void>;
}

/** Maximum number of logged facts of one name per interval; further ones are counted. */
const maxPerInterval = 20;
const intervalMs = 1000;

interface Interval {
  logged: number;
  suppressed: number;
  readonly timer: unknown;
  readonly level: Fact['level'];
}

/** Creates a log. Uses `Date.now`; its timers do not keep the process alive. */
export function createLog({ level, form, sink, state }: LogOptions): Log {
  const intervals = new Map<string, Interval>();
  let lost = 0;

  function write({ level, name, message, details }: Fact): boolean {
    return sink.write(
      form({ time: Date.now(), level, event: name, message, session: state?.(), details }),
    );
  }

  function put(fact: Fact): void {
    if (lost > 0) {
      const count = lost;
      const message = `${count} log lines could not be written before this one`;
      const fact: CommandFact = { level: 'warning', name: 'log.lost', message, details: { count } };
      if (write(fact)) lost = 0;
    }
    if (!write(fact)) lost += 1;
  }

  function open(fact: Fact): Interval {
    const timer = systemClock.setTimeout(() => end(fact.name), intervalMs);
    const interval = { logged: 0, suppressed: 0, timer, level: fact.level };
    intervals.set(fact.name, interval);
    return interval;
  }

  function end(of: string): void {
    const interval = intervals.get(of);
    if (interval === undefined) return;
    systemClock.clearTimeout(interval.timer);
    intervals.delete(of);
    const { suppressed: count, level } = interval;
    if (count === 0) return;
    const message = `${count} more ${of} in the last second`;
    put({ level, name: 'log.suppressed', message, details: { of, count } } satisfies CommandFact);
  }

  function report(fact: Fact): void {
    if (!isLogged(fact.level, level)) return;
    const interval = intervals.get(fact.name) ?? open(fact);
    if (interval.logged >= maxPerInterval) {
      interval.suppressed += 1;
      return;
    }
    interval.logged += 1;
    put(fact);
  }

  return {
    report: Object.assign(report, { threshold: level }),
    async close() {
      for (const name of [...intervals.keys()]) end(name);
      await sink.flush();
    },
  };
}

function isLogged(level: FactLevel, threshold: LogThreshold): boolean {
  return logVerbosities.indexOf(level) >= logVerbosities.indexOf(threshold);
}
