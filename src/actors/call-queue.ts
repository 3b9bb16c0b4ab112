/** Which calls run and which wait: at most so many at once, first come first served. */
import type { Call } from './call.ts';

export class CallQueue {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #run: (call: Call) => void;
  readonly #waiting = new Set<Call>();
  #running = 0;
  /** How many may run now: none while the client does not read. */
  #mayRun: number;
  /** How many may wait now: while held, what the reader still reads ahead is the bound. */
  #mayWait: number;

  constructor(
    bounds: { readonly maxRunning: number; readonly maxWaiting: number },
    run: (call: Call) => void,
  ) {
    this.#maxRunning = this.#mayRun = bounds.maxRunning;
    this.#maxWaiting = this.#mayWait = bounds.maxWaiting;
    this.#run = run;
  }

  /** Runs the call or lets it wait. False, and nothing done, where too many wait. */
  add(call: Call): boolean {
    if (this.#waiting.size === 0 && this.#running < this.#mayRun) {
      this.#start(call);
    } else if (this.#waiting.size < this.#mayWait) {
      this.#waiting.add(call);
    } else {
      return false;
    }
    return true;
  }

  /** A call that was added has ended. The next one starts with {@link startWaiting}, not here: handlers that end at once would nest. */
  remove(call: Call): void {
    if (!this.#waiting.delete(call)) this.#running--;
  }

  /** Starts what waits, as far as there is room. */
  startWaiting(): void {
    for (const call of this.#waiting) {
      if (this.#running >= this.#mayRun) return;
      this.#waiting.delete(call);
      this.#start(call);
    }
  }

  /** Starts no call until {@link release}; those that run go on. */
  hold(): void {
    this.#mayRun = 0;
    this.#mayWait = Infinity;
  }

  release(): void {
    this.#mayRun = this.#maxRunning;
    this.#mayWait = this.#maxWaiting;
  }

  #start(call: Call): void {
    this.#running++;
    this.#run(call);
  }
}
