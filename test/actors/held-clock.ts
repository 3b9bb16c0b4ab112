/** The real clock, on which timers of one length are due when the test says so: what has to happen before has the time that it needs. */
import { systemClock } from '../../src/actors/clock.ts';
import type { Clock } from '../../src/actors/clock.ts';

export class HeldClock implements Clock {
  readonly #heldMs: number;
  readonly #held = new Set<() => void>();
  readonly now = systemClock.now;

  /** @param heldMs the length of the timers that are held */
  constructor(heldMs: number) {
    this.#heldMs = heldMs;
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    if (delayMs !== this.#heldMs) return systemClock.setTimeout(callback, delayMs);
    const timer = () => callback();
    this.#held.add(timer);
    return timer;
  }

  clearTimeout(handle: unknown): void {
    if (!this.#held.delete(handle as () => void)) systemClock.clearTimeout(handle);
  }

  /** The time has come: runs those that are held. */
  letGo(): void {
    for (const timer of this.#held) {
      this.#held.delete(timer);
      timer();
    }
  }
}
