/** Limits how many of a server's questions the host's code answers at once. */
import { RuntimeError } from '../../protocol/errors.ts';

export interface DialogBounds {
  /** How many questions may be answered at once. */
  readonly maxRunning: number;
  /** How many more may wait for their turn; others are refused. */
  readonly maxWaiting: number;
}

export class DialogPlaces {
  readonly #bounds: DialogBounds;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(bounds: DialogBounds) {
    this.#bounds = bounds;
  }

  /** @throws {RuntimeError} LIMIT_EXCEEDED: this many could never be answered at once */
  refuseMoreThan(count: number): void {
    const { maxRunning, maxWaiting } = this.#bounds;
    if (count <= maxRunning + maxWaiting) return;
    const message = `The server asks ${count} things in one result, and may ask ${maxRunning + maxWaiting}`;
    throw new RuntimeError('LIMIT_EXCEEDED', message);
  }

  /**
   * Runs the function once there is a place.
   *
   * @throws {RuntimeError} LIMIT_EXCEEDED: too many wait
   * @throws what `run` throws, or the signal's reason if it fires before the turn comes
   */
  async run<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    await this.#take(signal);
    try {
      return await run();
    } finally {
      this.#taken--;
      for (const next of this.#waiting) {
        next();
        break;
      }
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { maxRunning, maxWaiting } = this.#bounds;
    if (this.#taken < maxRunning) {
      this.#taken++;
      return;
    }
    if (this.#waiting.size >= maxWaiting) {
      const message = `The server asks too much at once: ${maxRunning} questions are open and ${maxWaiting} wait`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        this.#taken++;
        leave();
        resolve();
      };
      const cancel = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const leave = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener('abort', cancel);
      };
      this.#waiting.add(go);
      signal.addEventListener('abort', cancel, { once: true });
    });
  }
}
