/**
 * Deadlines of many things with one timer.
 *
 * Things with the same duration expire in the order in which they were added, so each duration is a lane whose head is next,
 * and adding or removing costs the same at ten things and at a hundred thousand. A heap would need a removal per answer; a timer per
 * request costs more than the request.
 */
import type { Clock } from './clock.ts';

/** What can be queued; the queue keeps its place on it. */
export interface Expiring {
  /** When it is due, in the clock's milliseconds. */
  dueAt: number;
  /** The duration that it was last added with. */
  lane: number;
}

export class DeadlineQueue<T extends Expiring> {
  readonly #lanes = new Map<number, Set<T>>();
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  #timer: unknown;
  #wakeAt = Infinity;

  /** @param onDue called once for each item that is due, after it has left the queue */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Adds an item that is due in `durationMs`, or moves it where it is queued already. */
  add(item: T, durationMs: number): void {
    this.remove(item);
    item.dueAt = this.#clock.now() + durationMs;
    item.lane = durationMs;
    const lane = this.#lanes.get(durationMs);
    if (lane) lane.add(item);
    else this.#lanes.set(durationMs, new Set([item]));
    if (item.dueAt < this.#wakeAt) this.#wake(item.dueAt);
  }

  /** Takes an item out. The timer is left alone: it finds nothing due, and goes to the next. */
  remove(item: T): void {
    const lane = this.#lanes.get(item.lane);
    if (lane?.delete(item) && lane.size === 0) this.#lanes.delete(item.lane);
  }

  /** Takes everything out and stops the timer. */
  clear(): void {
    // Each lane too: it may be walked right now.
    for (const lane of this.#lanes.values()) lane.clear();
    this.#lanes.clear();
    this.#wakeAt = Infinity;
    this.#clock.clearTimeout(this.#timer);
  }

  #wake(at: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#wakeAt = at;
    // A timer may fire a fraction of a millisecond early; asking for whole ones saves a second round.
    const delayMs = Math.max(0, Math.ceil(at - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => this.#expire(), delayMs);
  }

  #expire(): void {
    this.#wakeAt = Infinity;
    const now = this.#clock.now();
    for (const lane of [...this.#lanes.values()]) {
      for (const item of lane) {
        if (item.dueAt > now) break;
        this.remove(item);
        this.#onDue(item);
      }
    }
    const next = this.#nextDue();
    if (next < this.#wakeAt) this.#wake(next);
  }

  #nextDue(): number {
    let next = Infinity;
    for (const lane of this.#lanes.values()) {
      for (const item of lane) {
        next = Math.min(next, item.dueAt);
        break;
      }
    }
    return next;
  }
}
