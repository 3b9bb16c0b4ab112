/** The log: facts that pass a level, at a bounded rate, written to a sink. */
import type { Fact, Report } from '../../actors/facts.ts';
import type { LogForm } from './log-line.ts';
import { isLogged } from './log-level.ts';
import type { LogLevel } from './log-level.ts';
import type { LogSink } from './log-sink.ts';

/** What only the command reports. */
type CommandFactName =
  /** An actor of the session's failed: a bug. */
  | 'session.failed'
  /** A signal that ends the session. */
  | 'process.signalled'
  /** An exception that nobody caught, or a rejection that nobody handled. */
  | 'process.failed'
  /** The session did not end within its drain time; the process ends without it. */
  | 'process.abandoned'
  /** A signal has asked what is pending, and could not be answered. */
  | 'dump.failed'
  /** Facts of one name that the rate limit kept back. */
  | 'log.suppressed'
  /** Lines that the sink could not take. */
  | 'log.lost';

export type CommandFact = Fact<CommandFactName>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly form: LogForm;
  readonly sink: LogSink;
  /** The session's state, once there is a session. */
  readonly state?: () => string | undefined;
}

export interface Log {
  /** Logs a fact, if its level and the rate allow. It never throws. */
  readonly report: Report;
  /** Writes what is held back and resolves once the sink is flushed. */
  close(): Promise<void>;
}

/** Facts of one name in one interval; the rest are counted. */
const maxPerInterval = 20;
const intervalMs = 1000;

interface Interval {
  logged: number;
  suppressed: number;
  readonly timer: NodeJS.Timeout;
  readonly level: Fact['level'];
}

/** Makes a log. It reads the clock with `Date.now`, and its timers keep no process alive. */
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
    const timer = setTimeout(end, intervalMs, fact.name);
    timer.unref();
    const interval = { logged: 0, suppressed: 0, timer, level: fact.level };
    intervals.set(fact.name, interval);
    return interval;
  }

  function end(of: string): void {
    const interval = intervals.get(of);
    if (interval === undefined) return;
    clearTimeout(interval.timer);
    intervals.delete(of);
    const { suppressed: count, level } = interval;
    if (count === 0) return;
    const message = `${count} more ${of} in the last second`;
    put({ level, name: 'log.suppressed', message, details: { of, count } } satisfies CommandFact);
  }

  return {
    report(fact) {
      if (!isLogged(fact.level, level)) return;
      const interval = intervals.get(fact.name) ?? open(fact);
      if (interval.logged >= maxPerInterval) {
        interval.suppressed += 1;
        return;
      }
      interval.logged += 1;
      put(fact);
    },
    async close() {
      for (const name of [...intervals.keys()]) end(name);
      await sink.flush();
    },
  };
}
