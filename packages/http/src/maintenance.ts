/**
 * Periodic work of an endpoint: pending answers, silent or unread streams, idle sessions, expired
 * events. All items share one timer, so a request needs no timer of its own.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { HttpLimits } from './options.ts';

/** An item with periodic work. */
export interface Maintained extends IndexedItem {
  /** @param now clock ms */
  tick(now: number): void;
}

export class Maintenance {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #items = new IndexedList<Maintained>();
  #timer: unknown = undefined;

  /** @param intervalMs interval between ticks */
  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  get size(): number {
    return this.#items.size;
  }

  add(item: Maintained): void {
    this.#items.add(item);
    if (this.#timer === undefined) this.#timer = this.#schedule();
  }

  delete(item: Maintained): void {
    this.#items.delete(item);
  }

  /**
   * Runs a last tick and stops the timer if no items are left; otherwise the timer stops with the
   * last item.
   */
  stopIfEmpty(): void {
    this.#tickAll();
    if (this.size > 0) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tickAll(): void {
    const now = this.#clock.now();
    this.#items.forEach((item) => item.tick(now));
  }

  #schedule(): unknown {
    return this.#clock.setTimeout(() => {
      this.#tickAll();
      this.#timer = this.#items.size > 0 ? this.#schedule() : undefined;
    }, this.#intervalMs);
  }
}

/** Tick interval for these limits, milliseconds: short enough for the shortest timeout. */
export function maintenanceIntervalMs(limits: HttpLimits): number {
  const { keepaliveIntervalMs, sessionIdleTimeoutMs, streamAfterMs } = limits;
  const times = [keepaliveIntervalMs || Infinity, sessionIdleTimeoutMs, streamAfterMs];
  const { unreadTimeoutMs, bodyTimeoutMs } = limits;
  return Math.min(1000, Math.max(10, Math.min(...times, unreadTimeoutMs, bodyTimeoutMs) / 2));
}

/**
 * A list for items that come and go constantly, such as pending answers. Removal moves the last
 * item into the gap. A `Set` would be slower and keep ended answers in its outgrown tables
 * (docs/performance.md).
 */

/** An item of an {@link IndexedList}. */
export interface IndexedItem {
  /** Index in the list, maintained by the list; initially {@link notListed}. */
  listIndex: number;
}

/** Index of an item that is in no list. */
export const notListed = -1;

export class IndexedList<T extends IndexedItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** A copy, in no particular order. */
  get all(): readonly T[] {
    return [...this.#items];
  }

  /** Does nothing if the item is already listed. */
  add(member: T): void {
    if (member.listIndex === notListed) member.listIndex = this.#items.push(member) - 1;
  }

  /** Does nothing if the item is not listed. */
  delete(member: T): void {
    const { listIndex } = member;
    if (listIndex === notListed) return;
    member.listIndex = notListed;
    const last = this.#items.pop();
    if (!last || last === member) return;
    this.#items[listIndex] = last;
    last.listIndex = listIndex;
  }

  /**
   * Visits each item, from the last to the first. Items may be removed meanwhile: a gap is filled
   * with an item that was already visited.
   */
  forEach(callback: (member: T) => void): void {
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const member = this.#items[at];
      if (member) callback(member);
    }
  }
}
