/**
 * What an endpoint looks after from time to time: answers that are due for long, streams that are
 * silent or not read, sessions that are quiet, events that are too old. One timer for all, while
 * there is anything to look after: a request costs no timer of its own.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { HttpLimits } from './options.ts';

/** Something that is looked after by one upkeep. */
export interface Maintained extends RosterMember {
  /** @param now the clock's milliseconds */
  tend(now: number): void;
}

export class Maintenance {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #tended = new IndexedList<Maintained>();
  #timer: unknown = undefined;

  /** @param everyMs how often it looks */
  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** How many it looks after. */
  get size(): number {
    return this.#tended.size;
  }

  add(tended: Maintained): void {
    this.#tended.add(tended);
    if (this.#timer === undefined) this.#timer = this.#next();
  }

  delete(tended: Maintained): void {
    this.#tended.delete(tended);
  }

  /** Looks once more, and ends its timer if nothing is left to look after; otherwise that ends once there is nothing. */
  rest(): void {
    this.#look();
    if (this.size > 0) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = this.#clock.now();
    this.#tended.each((tended) => tended.tend(now));
  }

  #next(): unknown {
    return this.#clock.setTimeout(() => {
      this.#look();
      this.#timer = this.#tended.size > 0 ? this.#next() : undefined;
    }, this.#everyMs);
  }
}

/** How often an endpoint looks, milliseconds: often enough for the shortest of its times. */
export function upkeepMs(limits: HttpLimits): number {
  const { keepaliveIntervalMs, sessionIdleTimeoutMs, streamAfterMs } = limits;
  const times = [keepaliveIntervalMs || Infinity, sessionIdleTimeoutMs, streamAfterMs];
  const { unreadTimeoutMs, bodyTimeoutMs } = limits;
  return Math.min(1000, Math.max(10, Math.min(...times, unreadTimeoutMs, bodyTimeoutMs) / 2));
}

/**
 * What is added and leaves all the time, such as answers that are due: a list whose last member
 * takes the place of one that leaves. The outgrown tables of a set would keep answers in memory that
 * ended long ago, and each addition to it costs more (docs/performance.md).
 */

/** What may be in one roster. */
export interface RosterMember {
  /** Where it stands; only the roster sets it. {@link notListed} at first. */
  place: number;
}

/** The place of what is in no roster. */
export const notListed = -1;

export class IndexedList<T extends RosterMember> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** A copy, in no order. */
  get all(): readonly T[] {
    return [...this.#members];
  }

  /** Does nothing if it is in it already. */
  add(member: T): void {
    if (member.place === notListed) member.place = this.#members.push(member) - 1;
  }

  /** Does nothing if it is not in it. */
  delete(member: T): void {
    const { place } = member;
    if (place === notListed) return;
    member.place = notListed;
    const last = this.#members.pop();
    if (!last || last === member) return;
    this.#members[place] = last;
    last.place = place;
  }

  /**
   * Calls back for each. Any of them may leave meanwhile: it goes from the last one on, so a member that takes
   * the place of one that leaves has had its turn.
   */
  each(callback: (member: T) => void): void {
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at];
      if (member) callback(member);
    }
  }
}
