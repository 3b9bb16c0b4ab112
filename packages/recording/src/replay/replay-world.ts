/** The world of a replayed session, as the recording has it: its time and its random ids. */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Limits } from '../../../../src/actors/limits.ts';
import type { ServerDescription } from '../../../../src/protocol/implementation.ts';
import { liveEnvironment } from '../../../../src/server/session/session-environment.ts';
import type { SessionEnvironment } from '../../../../src/server/session/session-environment.ts';
import type { Transport } from '../../../../src/transports/transport.ts';
import type { RecordingHeader, SessionOutputLine } from '../format.ts';
import { closedLine, timeOfDayAt, transitionLines } from '../lines.ts';

/** Tells the recording's time, and fires the timers that fired then. */
export class ReplayClock implements Clock {
  #now: number;
  #count = 0;
  readonly #timers = new Map<unknown, () => void>();

  /** @param now milliseconds */
  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Sets the time that a line has. Time never goes back. */
  advanceTo(at: number | undefined): void {
    if (at !== undefined && at > this.#now) this.#now = at;
  }

  setTimeout(callback: () => void): number {
    const timer = ++this.#count;
    this.#timers.set(timer, callback);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer);
  }

  /**
   * Fires a timer; the first that was set is 1.
   * @returns false if it was never set, or was cleared
   */
  fire(timer: number): boolean {
    const callback = this.#timers.get(timer);
    if (!callback) return false;
    this.#timers.delete(timer);
    callback();
    return true;
  }
}

/**
 * The environment that every replay has: it gives the recorded time and ids, and observes the
 * machines.
 */
export function replayEnvironment(options: {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly transport: Transport;
  /** The recorded id; undefined if there is none. */
  random(of: string): string | undefined;
  output(line: SessionOutputLine): void;
  /** What `initialize` is answered with, given what the playing server would answer. */
  server(live: ServerDescription): ServerDescription;
  /** Called after the session has called one of its host's listeners. */
  afterwards(): void;
}): SessionEnvironment {
  const { header, clock, transport, random, output, server, afterwards } = options;
  return {
    ...liveEnvironment,
    clock: () => clock,
    timeOfDay: () => timeOfDayAt(header, clock.now()),
    randomId: (of, make) => random(of) ?? make(),
    transport: () => transport,
    begin: ({ server: live, transitions }) => {
      transitions.listen(transitionLines(output));
      return server(live);
    },
    listener: (_, call) => {
      call();
      afterwards();
    },
    closed: (cause) => output(closedLine(cause)),
  };
}

/**
 * The recorded options of the session; this version's defaults stand for limits that it did not
 * know.
 */
export function optionsOf({ limits, resume }: RecordingHeader): {
  readonly limits: Partial<Limits>;
  readonly resume?: 'replay';
} {
  const known = Object.entries(limits).map(([name, limit]) => [name, limit ?? Infinity]);
  return {
    limits: Object.fromEntries(known) as Partial<Limits>,
    ...(resume ? { resume } : {}),
  };
}
