import { SimulatedClock } from 'xstate';

/** A simulated clock that counts its timers. */
export class CountingClock extends SimulatedClock {
  readonly #set = new Set<number>();
  /** Total number of timers set. */
  made = 0;

  get timers(): number {
    return this.#set.size;
  }

  override setTimeout(callback: () => void, delayMs: number): number {
    this.made++;
    const id = super.setTimeout(() => {
      this.#set.delete(id);
      callback();
    }, delayMs);
    this.#set.add(id);
    return id;
  }

  override clearTimeout(id: number): void {
    this.#set.delete(id);
    super.clearTimeout(id);
  }
}
