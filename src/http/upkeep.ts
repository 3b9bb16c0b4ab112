/**
 * What an endpoint looks after from time to time: answers that are due for long, streams that are
 * silent or not read, sessions that are quiet, events that are too old. One timer for all, while
 * there is anything to look after: a request costs no timer of its own.
 */
import type { Clock } from '../actors/clock.ts';
import type { HttpLimits } from './options.ts';

/** Something that is looked after by one upkeep. */
export interface Tended {
  /** Its place among those that are looked after; only the upkeep sets it. {@link untended} at first. */
  tendedAt: number;
  /** @param now the clock's milliseconds */
  tend(now: number): void;
}

/** The place of what is not looked after. */
export const untended = -1;

export class Upkeep {
  readonly #clock: Clock;
  readonly #everyMs: number;
  /**
   * A list whose last one takes the place of one that leaves. A set's outgrown tables would keep
   * answers in memory that ended long ago (docs/performance.md).
   */
  readonly #tended: Tended[] = [];
  #timer: unknown = undefined;

  /** @param everyMs how often it looks */
  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** How many it looks after. */
  get size(): number {
    return this.#tended.length;
  }

  add(tended: Tended): void {
    if (tended.tendedAt === untended) tended.tendedAt = this.#tended.push(tended) - 1;
    this.#timer ??= this.#next();
  }

  delete(tended: Tended): void {
    const place = tended.tendedAt;
    if (place === untended) return;
    tended.tendedAt = untended;
    const last = this.#tended.pop();
    if (!last || last === tended) return;
    this.#tended[place] = last;
    last.tendedAt = place;
  }

  /** Ends its timer. */
  stop(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const tended of this.#tended.splice(0)) tended.tendedAt = untended;
  }

  #next(): unknown {
    return this.#clock.setTimeout(() => {
      const now = this.#clock.now();
      // From the last one: those that leave meanwhile are replaced by others that have had their turn.
      for (let at = this.#tended.length - 1; at >= 0; at--) this.#tended[at]?.tend(now);
      this.#timer = this.#tended.length > 0 ? this.#next() : undefined;
    }, this.#everyMs);
  }
}

/** How often an endpoint looks, milliseconds: often enough for the shortest of its times. */
export function upkeepMs(limits: HttpLimits): number {
  const { keepaliveIntervalMs, sessionIdleTimeoutMs, streamAfterMs, unreadTimeoutMs } = limits;
  const times = [keepaliveIntervalMs || Infinity, sessionIdleTimeoutMs, streamAfterMs];
  return Math.min(1000, Math.max(10, Math.min(...times, unreadTimeoutMs) / 2));
}
