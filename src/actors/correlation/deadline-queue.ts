/** Deadlines of many items with one timer. */
import { refTimer, unrefTimer } from '../clock.ts';
import type { Clock } from '../clock.ts';

/**
 * What can be queued; the queue keeps its place on it, because a set of places would cost more than
 * what it holds.
 */
export class Expiring {
  /** When it is due, in the clock's milliseconds: a whole number, which takes no room of its own. */
  dueAt = 0;
  /** Its index in the queue; undefined while it is not queued. */
  lane: Lane | undefined = undefined;
  previous: Expiring | undefined = undefined;
  next: Expiring | undefined = undefined;

  /** Whether no code waits for it, so that it need not keep the process alive. */
  get inBackground(): boolean {
    return false;
  }
}

/** What has the same duration, in the order in which it was added. */
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

/**
 * So many lanes may stay though they are empty: nearly always the same few durations come again.
 */
const keptLanes = 8;

/**
 * Deadlines of many things with one timer.
 *
 * Things with the same duration expire in the order in which they were added, so each duration is a
 * lane whose first is next, and adding or removing costs the same at ten things and at a hundred
 * thousand. A heap would need a removal per answer; a timer per request costs more than the
 * request.
 */
export class DeadlineQueue<T extends Expiring> {
  readonly #lanes = new Map<number, Lane>();
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  #timer: unknown;
  /** How many are awaited by user code. While there are any, the timer keeps the process alive. */
  #awaited = 0;
  #wakeAt = Infinity;

  /** @param onDue called once for each item that is due, after it has left the queue */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /**
   * Adds an item that is due in `durationMs`, or moves it if it is already queued.
   * @param now what the clock says, if it has just been asked
   */
  add(item: T, durationMs: number, now = this.#clock.now()): void {
    if (item.lane) this.#leave(item.lane, item);
    else if (!item.inBackground && this.#awaited++ === 0) refTimer(this.#timer);
    item.dueAt = Math.ceil(now + durationMs);
    this.#laneOf(durationMs).push(item);
    if (item.dueAt < this.#wakeAt) this.#wake(item.dueAt);
  }

  /** Takes an item out. The timer is left alone: it finds nothing due, and goes to the next. */
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

  /** Takes everything out and stops the timer. */
  clear(): void {
    for (const lane of this.#lanes.values()) while (lane.first) lane.delete(lane.first);
    this.#lanes.clear();
    this.#awaited = 0;
    this.#wakeAt = Infinity;
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

  #wake(at: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#wakeAt = at;
    // A timer may fire a fraction of a millisecond early; asking for whole ones saves a second
    // round.
    const delayMs = Math.max(0, Math.ceil(at - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => this.#expire(), delayMs);
    if (this.#awaited > 0) refTimer(this.#timer);
  }

  #expire(): void {
    this.#wakeAt = Infinity;
    const now = this.#clock.now();
    for (const lane of [...this.#lanes.values()]) {
      for (let item = lane.first; item && item.dueAt <= now; item = lane.first) {
        this.remove(item as T);
        this.#onDue(item as T);
      }
    }
    const next = this.#nextDue();
    if (next < this.#wakeAt) this.#wake(next);
  }

  #nextDue(): number {
    let next = Infinity;
    for (const { first } of this.#lanes.values()) if (first) next = Math.min(next, first.dueAt);
    return next;
  }
}
