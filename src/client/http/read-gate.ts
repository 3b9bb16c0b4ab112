/** Whether streams are read: not while nobody would take what they hold. */
export class ReadGate {
  #state: { readonly name: 'open' } | { readonly name: 'shut'; readonly opened: Promise<void> } = {
    name: 'open',
  };
  #open = () => {};

  shut(): void {
    if (this.#state.name === 'shut') return;
    const opened = new Promise<void>((resolve) => {
      this.#open = resolve;
    });
    this.#state = { name: 'shut', opened };
  }

  open(): void {
    this.#state = { name: 'open' };
    this.#open();
  }

  /** Undefined if it is open. */
  get opened(): Promise<void> | undefined {
    return this.#state.name === 'shut' ? this.#state.opened : undefined;
  }
}
