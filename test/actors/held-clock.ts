/**
 * The real clock, with timers of one length that fire when the test says so, so that whatever must
 * happen before has enough time.
 */
import { systemClock } from '../../src/actors/clock.ts';
import type { Clock } from '../../src/actors/clock.ts';

export class HeldClock implements Clock {
  readonly #heldMs: number;
  readonly #held = new Set<() => void>();
  readonly now = systemClock.now;

  /** @param heldMs length of the held timers */
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

  /** Fires the held timers. */
  letGo(): void {
    for (const timer of this.#held) {
      this.#held.delete(timer);
      timer();
    }
  }
}
