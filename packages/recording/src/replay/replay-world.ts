/** Recorded environment of a replayed session: time and random ids. */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Limits } from '../../../../src/actors/limits.ts';
import type { ServerDescription } from '../../../../src/protocol/implementation.ts';
import { liveEnvironment } from '../../../../src/server/session/session-environment.ts';
import type { SessionEnvironment } from '../../../../src/server/session/session-environment.ts';
import type { Transport } from '../../../../src/transports/transport.ts';
import type { RecordingHeader, SessionOutputLine } from '../format.ts';
import { closedLine, timeOfDayAt, transitionLines } from '../lines.ts';

/** A clock that shows recorded times and fires recorded timers. */
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

  /** Sets the time of a line. Time never goes back. */
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
   * Fires a timer by number, from 1.
   * @returns false if the timer was never set, or was cleared
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
 * Environment of all replays: provides recorded time and ids, and observes the machines.
 */
export function replayEnvironment(options: {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly transport: Transport;
  /** The next recorded id; undefined if there is none. */
  random(of: string): string | undefined;
  output(line: SessionOutputLine): void;
  /** Converts the replaying server's `initialize` result to the recorded one. */
  server(live: ServerDescription): ServerDescription;
  /** Called after each call of a host's listener. */
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
 * Recorded options of the session, with this version's defaults for limits unknown to the recording version.
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
