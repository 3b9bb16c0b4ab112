/**
 * Work of which only so much is done at once. Parties take turns: nobody waits behind all that
 * another one has begun.
 */

export interface TurnLimits {
  /** How much is done at once. */
  readonly maxRunning: number;
  /** How much of one party may wait. */
  readonly maxWaiting: number;
}

/** Why something was not done: too much of its party waits. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting';
}

export class CheckTurns {
  readonly #limits: TurnLimits;
  /** What waits, by party. The party whose turn it is comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /**
   * Does something when it is its turn.
   *
   * @param signal the work is not begun once this is aborted
   * @throws {TooManyWaiting}, the reason of the signal, or what the work throws
   */
  async run<T>(party: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running < this.#limits.maxRunning) this.#running++;
    else await this.#turn(party, signal);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  async #turn(party: string, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting } = this.#limits;
    const line = this.#waiting.get(party) ?? [];
    if (line.length >= maxWaiting) throw new TooManyWaiting(`${maxWaiting} wait already`);
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        line.splice(line.indexOf(begin), 1);
        if (line.length === 0) this.#waiting.delete(party);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      line.push(begin);
      this.#waiting.set(party, line);
    });
  }

  /** The place of what has ended is the next one's. */
  #next(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running--;
      return;
    }
    const [party, line] = first;
    this.#waiting.delete(party);
    const begin = line.shift();
    if (line.length > 0) this.#waiting.set(party, line);
    begin?.();
  }
}
