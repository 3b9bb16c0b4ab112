/** Control of time and event-loop turns in tests, without sleeping. */
import { SimulatedClock } from 'xstate';
import { keepAlive, systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';

/**
 * A simulated clock that counts its timers. Pass it to `connect`, `scriptedConversation` or
 * `listen` as `clock`, and advance it with `increment(milliseconds)`.
 */
export class TestClock extends SimulatedClock {
  readonly #live = new Set<number>();

  /** Number of pending timers. */
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

/** The part of a message port that is used here; Node's types omit `onmessage`. */
interface PortEnd {
  onmessage: () => void;
  postMessage(message: null): void;
  close(): void;
}

/**
 * Resolves in the next turn of the event loop, after all ready promises have run. No time passes,
 * so a test can assert that nothing more happened.
 */
export function flush(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel() as unknown as { port1: PortEnd; port2: PortEnd };
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

let waiting = 0;
const timers = new Set<unknown>();
let release: (() => void) | undefined;

function update(): void {
  if (waiting > 0 && timers.size > 0) {
    release ??= keepAlive();
  } else {
    release?.();
    release = undefined;
  }
}

/** Marks a promise as awaited by a test until it settles. */
export function awaited<T>(promise: Promise<T>): Promise<T> {
  waiting++;
  update();
  const settled = () => {
    waiting--;
    update();
  };
  promise.then(settled, settled);
  return promise;
}

/** The real clock, for sessions under test. */
export const awaitedClock: Clock = {
  now: systemClock.now,
  setTimeout: (callback, delayMs) => {
    const timer = systemClock.setTimeout(() => {
      timers.delete(timer);
      update();
      callback();
    }, delayMs);
    timers.add(timer);
    update();
    return timer;
  },
  clearTimeout: (timer) => {
    systemClock.clearTimeout(timer);
    timers.delete(timer);
    update();
  },
};
