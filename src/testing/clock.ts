/** Time and turns under a test's control: nothing here sleeps. */
import { SimulatedClock } from 'xstate';

/**
 * A simulated clock that knows how many timers are set. Pass it to `connect`, `converse` or
 * `listen` as `clock`, and move it with `increment(milliseconds)`.
 */
export class TestClock extends SimulatedClock {
  readonly #live = new Set<number>();

  /** How many timers are set: they have neither fired nor been cleared. */
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
 * Resolves in the event loop's next turn. By then every ready promise has run, however long its
 * chain. No time passes, so a test can use it to say that nothing more happened.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel() as unknown as { port1: PortEnd; port2: PortEnd };
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
