/** Deadlines of many items with one timer. */
import { refTimer, unrefTimer } from '../clock.ts';
import type { Clock } from '../clock.ts';

/** A queueable item. It holds its own links, since a set of entries would cost more. */
export class Expiring {
  /** Deadline, clock ms. An integer, which V8 stores inline. */
  dueAt = 0;
  /** The lane that holds the item; undefined while not queued. */
  lane: Lane | undefined = undefined;
  previous: Expiring | undefined = undefined;
  next: Expiring | undefined = undefined;

  /** True if no code awaits the item, so it need not keep the process alive. */
  get inBackground(): boolean {
    return false;
  }
}

/** Items with the same duration, in insertion order: a doubly linked list. */
class Lane {
  readonly durationMs: number;
  first: Expiring | undefined = undefined;
  last: Expiring | undefined = undefined;

  constructor(durationMs: number) {
    this.durationMs = durationMs;
  }

  push(item: Expiring): void {
    item.lane = this;
    item.previous = this.last;
    if (this.last) this.last.next = item;
    else this.first = item;
    this.last = item;
  }

  delete(item: Expiring): void {
    const { previous, next } = item;
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.last = previous;
    item.lane = item.previous = item.next = undefined;
  }
}

/** Empty lanes to keep, since the same few durations recur. */
const keptLanes = 8;

/**
 * Deadlines of many items with one timer.
 *
 * Items with the same duration expire in insertion order, so each duration has a lane whose head
 * expires first. Adding and removing cost O(1). A heap would need a removal per answer, and a timer
 * per request costs more than the request.
 */
export class DeadlineQueue<T extends Expiring> {
  readonly #lanes = new Map<number, Lane>();
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  #timer: unknown;
  /** Items awaited by user code. While there are any, the timer keeps the process alive. */
  #awaited = 0;
  #timerAt = Infinity;

  /** @param onDue called once for each expired item, after its removal */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /**
   * Adds an item with a deadline in `durationMs`, or moves a queued one.
   * @param now the clock's current time, if known
   */
  add(item: T, durationMs: number, now = this.#clock.now()): void {
    if (item.lane) this.#leave(item.lane, item);
    else if (!item.inBackground && this.#awaited++ === 0) refTimer(this.#timer);
    item.dueAt = Math.ceil(now + durationMs);
    this.#laneOf(durationMs).push(item);
    if (item.dueAt < this.#timerAt) this.#setTimer(item.dueAt);
  }

  /**
   * Removes an item. The timer keeps running: when it finds nothing expired, it is set to the next
   * deadline.
   */
  remove(item: T): void {
    const { lane } = item;
    if (!lane) return;
    this.#leave(lane, item);
    if (!item.inBackground && --this.#awaited === 0) unrefTimer(this.#timer);
  }

  #leave(lane: Lane, item: Expiring): void {
    lane.delete(item);
    if (!lane.first && this.#lanes.size > keptLanes) this.#lanes.delete(lane.durationMs);
  }

  /** Removes all items and stops the timer. */
  clear(): void {
    for (const lane of this.#lanes.values()) while (lane.first) lane.delete(lane.first);
    this.#lanes.clear();
    this.#awaited = 0;
    this.#timerAt = Infinity;
    this.#clock.clearTimeout(this.#timer);
  }

  #laneOf(durationMs: number): Lane {
    let lane = this.#lanes.get(durationMs);
    if (!lane) {
      lane = new Lane(durationMs);
      this.#lanes.set(durationMs, lane);
    }
    return lane;
  }

  #setTimer(at: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timerAt = at;
    // Timers may fire a fraction of a millisecond early; whole milliseconds avoid a second round.
    const delayMs = Math.max(0, Math.ceil(at - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => this.#expire(), delayMs);
    if (this.#awaited > 0) refTimer(this.#timer);
  }

  #expire(): void {
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    for (const lane of [...this.#lanes.values()]) {
      for (let item = lane.first; item && item.dueAt <= now; item = lane.first) {
        this.remove(item as T);
        this.#onDue(item as T);
      }
    }
    const next = this.#nextDue();
    if (next < this.#timerAt) this.#setTimer(next);
  }

  #nextDue(): number {
    let next = Infinity;
    for (const { first } of this.#lanes.values()) if (first) next = Math.min(next, first.dueAt);
    return next;
  }
}
