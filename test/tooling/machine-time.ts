/**
 * The time in which the machine ran this process. If it had none for the test, it had none for what is tested either: promises of
 * seconds are held against the seconds that there were.
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
