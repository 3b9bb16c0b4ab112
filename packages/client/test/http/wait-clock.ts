import { SimulatedClock } from 'xstate';
import { sleepCheckMs } from '../../../../src/actors/sleep-watch.ts';
import { streamResumption } from '../../src/http/http-stream.machine.ts';
import { Arrivals } from './http-host.ts';

/** A clock that says how long each stream waits until it is resumed, and lets that pass. */
export class WaitClock extends SimulatedClock {
  readonly #waits = new Arrivals<number>();

  override setTimeout(callback: () => void, delayMs: number): number {
    const isHiddenRegion = delayMs === streamResumption.stableMs || delayMs === sleepCheckMs;
    if (!isHiddenRegion) this.#waits.add(delayMs);
    return super.setTimeout(callback, delayMs);
  }

  /** Lets the wait with this number pass, once it has begun. */
  async pass(number: number): Promise<number> {
    await this.#waits.first(() => this.#waits.all.length >= number);
    const wait = this.#waits.all[number - 1] ?? 0;
    this.increment(wait);
    return wait;
  }
}

/** Longer than any computer that is awake stands still. */
export const nightMs = 10 * 60_000;
