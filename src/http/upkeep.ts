/**
 * What an endpoint looks after from time to time: answers that are due for long, streams that are
 * silent or not read, sessions that are quiet, events that are too old. One timer for all, while
 * there is anything to look after: a request costs no timer of its own.
 */
import type { Clock } from '../actors/clock.ts';
import type { HttpLimits } from './options.ts';
import { Roster } from './roster.ts';
import type { Listed } from './roster.ts';

/** Something that is looked after by one upkeep. */
export interface Tended extends Listed {
  /** @param now the clock's milliseconds */
  tend(now: number): void;
}

export class Upkeep {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #tended = new Roster<Tended>();
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

  add(tended: Tended): void {
    this.#tended.add(tended);
    if (this.#timer === undefined) this.#timer = this.#next();
  }

  delete(tended: Tended): void {
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
