/** Gathers the responses to a batch; when the last one is there, they leave as one frame. */
import type { OutboundResponse } from '../../protocol/frames.ts';
import type { Replies } from './call.ts';

export class BatchReplies implements Replies {
  readonly #send: (responses: readonly OutboundResponse[]) => void;
  readonly #responses: OutboundResponse[] = [];
  #outstanding = 0;

  constructor(send: (responses: readonly OutboundResponse[]) => void) {
    this.#send = send;
  }

  /** One more response will come. */
  expect(): void {
    this.#outstanding++;
  }

  add(response: OutboundResponse): void {
    this.#responses.push(response);
    this.drop();
  }

  /** A response will not come: its request was cancelled. If all were, nothing is sent. */
  drop(): void {
    this.#outstanding--;
    if (this.#outstanding === 0 && this.#responses.length > 0) this.#send(this.#responses);
  }
}
