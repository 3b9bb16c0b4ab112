/** Batches: classifies their members, and sends their responses as one frame once all are there. */
import { classifyMessage } from '../../protocol/classify.ts';
import type {
  AnsweredInput,
  InboundBatch,
  InboundRequest,
  InvalidFrame,
  OutboundFrame,
  OutboundResponse,
  SingleFrame,
} from '../../protocol/frames.ts';
import type { RequestOrigin } from '../../protocol/request-origin.ts';
import type { Replies } from './call.ts';

/** Receives the responses of a batch as one frame. */
export interface FrameReplies {
  add(frame: OutboundFrame, request: AnsweredInput): void;
  drop(request: AnsweredInput): void;
}

export class BatchReplies implements Replies {
  readonly #outbox: FrameReplies;
  readonly #batch: Pick<InboundBatch, 'origin'>;
  readonly #responses: OutboundResponse[] = [];
  #outstanding: number;

  /** @param expected number of responses */
  constructor(expected: number, outbox: FrameReplies, batch: Pick<InboundBatch, 'origin'>) {
    this.#outstanding = expected;
    this.#outbox = outbox;
    this.#batch = batch;
  }

  add(response: OutboundResponse): void {
    this.#responses.push(response);
    this.drop();
  }

  /**
   * Counts a response that will not come, because its request was cancelled. If no request is
   * answered, nothing is sent.
   */
  drop(): void {
    this.#outstanding--;
    if (this.#outstanding > 0) return;
    const { origin } = this.#batch;
    if (this.#responses.length > 0) this.#outbox.add(this.#responses, { origin });
    else this.#outbox.drop({ origin });
  }
}

/** Classifies the members of a batch, and returns the collector of their responses. */
export function openBatch(
  batch: InboundBatch,
  outbox: FrameReplies,
): { readonly frames: readonly SingleFrame[]; readonly replies: Replies } {
  const { messages, size, origin } = batch;
  const sizeOfEach = (size ?? 0) / messages.length;
  const frames = messages
    .map((message) => classifyMessage(message, sizeOfEach))
    .map((frame) =>
      origin && isAnswered(frame) ? { ...frame, origin: memberOrigin(origin) } : frame,
    );
  const answered = frames.filter(isAnswered);
  if (answered.length === 0) outbox.drop({ origin });
  return { frames, replies: new BatchReplies(answered.length, outbox, batch) };
}

function isAnswered(frame: SingleFrame): frame is InboundRequest | InvalidFrame {
  return frame.kind === 'request' || frame.kind === 'invalid';
}

/** Gives each member an origin of its own, to identify it where ids are not unique. */
function memberOrigin(batch: RequestOrigin): RequestOrigin {
  if (batch.idScope === 'session') return batch;
  const { idScope, principal, http, noRequestsReason, revision, clientKey } = batch;
  return { idScope, principal, http, noRequestsReason, revision, clientKey, batch };
}
