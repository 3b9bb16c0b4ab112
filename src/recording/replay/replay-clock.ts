/** The clock of a replay: its time is the recording's, and the timers fire that fired then. */
import type { Clock } from '../../actors/clock.ts';

export class ReplayClock implements Clock {
  #now: number;
  #set = 0;
  readonly #timers = new Map<number, () => void>();

  /** @param now milliseconds */
  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Time as a line of the recording has it. It never goes back. */
  advanceTo(at: number | undefined): void {
    if (at !== undefined && at > this.#now) this.#now = at;
  }

  setTimeout(callback: () => void): number {
    const timer = ++this.#set;
    this.#timers.set(timer, callback);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  /**
   * Fires the timer that was set so many-th.
   * @returns false where there is none, or it was cleared
   */
  fire(timer: number): boolean {
    const callback = this.#timers.get(timer);
    if (!callback) return false;
    this.#timers.delete(timer);
    callback();
    return true;
  }
}
