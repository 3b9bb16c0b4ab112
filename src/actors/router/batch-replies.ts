/** Gathers the responses to a batch; when the last one is there, they leave as one frame. */
import type { OutboundResponse } from '../../protocol/frames.ts';
import type { Replies } from './call.ts';

export class BatchReplies implements Replies {
  readonly #send: (responses: readonly OutboundResponse[]) => void;
  readonly #responses: OutboundResponse[] = [];
  #outstanding: number;

  /** @param expected how many responses will come */
  constructor(expected: number, send: (responses: readonly OutboundResponse[]) => void) {
    this.#outstanding = expected;
    this.#send = send;
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
