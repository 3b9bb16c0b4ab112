/**
 * The time in which the machine ran this process. Where it had none for it, it had none for those who are tested either: what they promise
 * is in time as long as they run.
 */

/** How often it is counted, milliseconds. */
const tickMs = 10;

export class MachineTime {
  #ticks = 0;

  constructor() {
    setInterval(() => this.#ticks++, tickMs).unref();
  }

  /** Milliseconds since it began. */
  get now(): number {
    return this.#ticks * tickMs;
  }
}
