import type { EventSink } from '../http-exchange.ts';

type State = 'holding' | 'open' | 'ended';

/**
 * A stream on which nothing is said until something else has come to pass: once the client has an
 * id of an event it may go on at another node, which has to know the stream.
 */
export class HeldSink implements EventSink {
  readonly #sink: EventSink;
  #held = '';
  #state: State = 'holding';

  /** @param until resolves or rejects when it may begin */
  constructor(sink: EventSink, until: Promise<void>) {
    this.#sink = sink;
    const open = () => this.#open();
    until.then(open, open);
  }

  get untakenBytes(): number {
    return this.#held.length + this.#sink.untakenBytes;
  }

  write(text: string): void {
    if (this.#state === 'open') this.#sink.write(text);
    else this.#held += text;
  }

  end(): void {
    if (this.#state === 'open') this.#sink.end();
    else this.#state = 'ended';
  }

  cut(): void {
    this.#sink.cut();
  }

  #open(): void {
    const isEnded = this.#state === 'ended';
    this.#state = 'open';
    if (this.#held !== '') this.#sink.write(this.#held);
    this.#held = '';
    if (isEnded) this.#sink.end();
  }
}
