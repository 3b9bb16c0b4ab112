/**
 * Work of which only so much is done at once. Parties take turns: nobody waits behind all that
 * another one has begun.
 */

export class FairSemaphore {
  readonly #maxRunning: number;
  /** What waits, by clientKey. The clientKey whose turn it is comes first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #running = 0;

  /** @param maxRunning how much is done at once */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Whether more of this clientKey would begin at once, or be one of so many that wait. */
  hasRoom(maxWaiting: number, clientKey = ''): boolean {
    if (this.#running < this.#maxRunning) return true;
    return (this.#waiting.get(clientKey)?.size ?? 0) < maxWaiting;
  }

  /**
   * Does something when it is its turn; at once if there is a place.
   *
   * @param signal the work is not begun once this is aborted
   * @throws the reason of the signal, or what the work throws
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal, clientKey = ''): Promise<T> {
    signal?.throwIfAborted();
    if (this.#running < this.#maxRunning) this.#running++;
    else await this.#waitForTurn(clientKey, signal);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #waitForTurn(clientKey: string, signal: AbortSignal | undefined): Promise<void> {
    const line = this.#waiting.get(clientKey) ?? new Set();
    this.#waiting.set(clientKey, line);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        line.delete(begin);
        if (line.size === 0) this.#waiting.delete(clientKey);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      line.add(begin);
    });
  }

  /** The place of what has ended is the next one's. */
  #startNext(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running--;
      return;
    }
    const [clientKey, line] = first;
    const [begin] = line;
    this.#waiting.delete(clientKey);
    if (begin) line.delete(begin);
    if (line.size > 0) this.#waiting.set(clientKey, line);
    begin?.();
  }
}
