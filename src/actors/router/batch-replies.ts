/**
 * The members of a batch, and their responses: when the last one is there, they leave as one frame.
 */
import { classifyMessage } from '../../protocol/classify.ts';
import type { InboundBatch, OutboundResponse, SingleFrame } from '../../protocol/frames.ts';
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

/** The messages of a batch, and what gathers their responses. */
export function openBatch(
  { messages, size }: InboundBatch,
  send: (responses: readonly OutboundResponse[]) => void,
): { readonly frames: readonly SingleFrame[]; readonly replies: Replies } {
  const sizeOfEach = (size ?? 0) / messages.length;
  const frames = messages.map((message) => classifyMessage(message, sizeOfEach));
  const answered = frames.filter(({ kind }) => kind === 'request' || kind === 'invalid');
  return { frames, replies: new BatchReplies(answered.length, send) };
}
