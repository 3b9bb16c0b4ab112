/** Why nothing is read: nobody takes it, too much waits to be sent, or too many answers do. */
export type ShutReason = 'untaken' | 'unsent' | 'unanswered';

/** Whether streams are read: not while nobody would take what they hold, or what would come of it. */
export class ReadGate {
  readonly #reasons = new Set<ShutReason>();
  #opened: Promise<void> | undefined;
  #open = () => {};

  /** @returns whether it was not shut for this reason before */
  shut(reason: ShutReason): boolean {
    if (this.#reasons.has(reason)) return false;
    this.#reasons.add(reason);
    this.#opened ??= new Promise((resolve) => {
      this.#open = resolve;
    });
    return true;
  }

  /** Takes the reason back. It opens if there is no other. */
  open(reason: ShutReason): void {
    if (!this.#reasons.delete(reason) || this.#reasons.size > 0) return;
    this.#opened = undefined;
    this.#open();
  }

  /** Undefined if it is open. */
  get opened(): Promise<void> | undefined {
    return this.#opened;
  }
}
