/** The log: facts that pass a level, at a bounded rate, written to a sink. */
import type { Fact, FactLevel, Report } from '../../../../src/actors/facts.ts';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { LogForm } from './log-line.ts';

/** From the most detailed to the least; `silent` logs nothing. */
export const logVerbosities = ['debug', 'info', 'warning', 'error', 'silent'] as const;

/** A log takes facts of its threshold's level and above. */
export type LogThreshold = (typeof logVerbosities)[number];

/** Facts of a process that serves a session, and of its log. */
type CommandFactName =
  /** The server can be reached over HTTP, and where. */
  | 'http.listening'
  /** The server's address cannot be listened on; the process ends. */
  | 'http.unavailable'
  /** One of the session's actors failed: a bug. */
  | 'session.failed'
  /** stdin closed before any message, and is no terminal. */
  | 'input.unused'
  /** A signal ends the session. */
  | 'process.signalled'
  /** An exception was not caught, or a rejection not handled. */
  | 'process.failed'
  /** The session did not end within its drain time; the process ends without it. */
  | 'process.abandoned'
  /** A signal asked what is pending, and the answer failed. */
  | 'dump.failed'
  /** The rate limit held back facts of one name. */
  | 'log.suppressed'
  /** The sink could not take some lines. */
  | 'log.lost';

export type CommandFact = Fact<CommandFactName>;

/**
 * Where lines go. A failing sink says so by its return value alone: it does not know the log, so a
 * failure to log never causes another line.
 */
export interface LineSink {
  /** @returns false if the line is lost */
  write(line: string): boolean;
  /** Resolves once the operating system has every line, or cannot take more. Never rejects. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogThreshold;
  readonly form: LogForm;
  readonly sink: LineSink;
  /** The session's state, once there is a session. */
  readonly state?: () => string | undefined;
}

export interface Log {
  /** Logs a fact if its level and the rate allow it. Never throws. */
  readonly report: Report;
  /** Writes the summaries of held-back facts, and resolves once the sink is flushed. */
  close(): Promise<void>;
}

/** How many facts of one name are logged in an interval; the rest are counted. */
const maxPerInterval = 20;
const intervalMs = 1000;

interface Interval {
  logged: number;
  suppressed: number;
  readonly timer: unknown;
  readonly level: Fact['level'];
}

/** Creates a log. It reads the clock with `Date.now`; its timers do not keep the process alive. */
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
