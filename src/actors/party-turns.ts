/**
 * Work of which only so much is done at once. Parties take turns: nobody waits behind all that
 * another one has begun.
 */

export class FairSemaphore {
  readonly #maxRunning: number;
  /** What waits, by party. The party whose turn it is comes first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #running = 0;

  /** @param maxRunning how much is done at once */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Whether more of this party would begin at once, or be one of so many that wait. */
  hasRoom(maxWaiting: number, party = ''): boolean {
    if (this.#running < this.#maxRunning) return true;
    return (this.#waiting.get(party)?.size ?? 0) < maxWaiting;
  }

  /**
   * Does something when it is its turn; at once if there is a place.
   *
   * @param signal the work is not begun once this is aborted
   * @throws the reason of the signal, or what the work throws
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal, party = ''): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#maxRunning) this.#running++;
    else await this.#turn(party, signal);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn(party: string, signal: AbortSignal | undefined): Promise<void> {
    const line = this.#waiting.get(party) ?? new Set();
    this.#waiting.set(party, line);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        line.delete(begin);
        if (line.size === 0) this.#waiting.delete(party);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      line.add(begin);
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
    const [begin] = line;
    this.#waiting.delete(party);
    if (begin) line.delete(begin);
    if (line.size > 0) this.#waiting.set(party, line);
    begin?.();
  }
}
