/** Time as a test has it: it stands still until the test moves it. */
import { SimulatedClock } from 'xstate';

/**
 * A simulated clock that knows how many timers are set: given to `connect`, `converse` or `listen` as `clock`, moved by
 * `increment(milliseconds)`.
 */
export class TestClock extends SimulatedClock {
  readonly #live = new Set<number>();

  /** Timers that are set and have neither fired nor been cleared. */
  get liveTimers(): number {
    return this.#live.size;
  }

  override setTimeout(callback: () => void, delayMs: number): number {
    const id = super.setTimeout(() => {
      this.#live.delete(id);
      callback();
    }, delayMs);
    this.#live.add(id);
    return id;
  }

  override clearTimeout(id: number): void {
    this.#live.delete(id);
    super.clearTimeout(id);
  }
}
