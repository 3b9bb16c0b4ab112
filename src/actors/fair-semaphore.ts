/** A counting semaphore that is fair to clients: their queues are served round-robin. */

export class FairSemaphore {
  readonly #maxRunning: number;
  /** Queued work by client, the next client first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #running = 0;

  /** @param maxRunning number of permits */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** True if work of this client would start at once or find a place in its queue. */
  hasRoom(maxWaiting: number, clientKey = ''): boolean {
    if (this.#running < this.#maxRunning) return true;
    return (this.#waiting.get(clientKey)?.size ?? 0) < maxWaiting;
  }

  /**
   * Runs `work` with a permit, queueing for one if necessary.
   *
   * @param signal removes the work from the queue; work that has started is not interrupted
   * @throws the signal's reason, or the error of `work`
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
    const queue = this.#waiting.get(clientKey) ?? new Set();
    this.#waiting.set(clientKey, queue);
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.delete(start);
        if (queue.size === 0) this.#waiting.delete(clientKey);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      queue.add(start);
    });
  }

  /** Hands the permit of finished work to the next client, or frees it. */
  #startNext(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running--;
      return;
    }
    const [clientKey, queue] = first;
    const [start] = queue;
    this.#waiting.delete(clientKey);
    if (start) queue.delete(start);
    if (queue.size > 0) this.#waiting.set(clientKey, queue);
    start?.();
  }
}
