/**
 * What the router has to say: responses leave together at the end of its turn. A request with an
 * origin is answered by itself, at once: its transport has an answer of its own for each.
 */
import type { Ref } from '../../machines/port.ts';
import type { WriterEvent } from '../../machines/peer-ports.ts';
import type { AnsweredInput, OutboundFrame } from '../../protocol/frames.ts';
import type { Replies } from './call.ts';

export class Outbox implements Replies {
  readonly #writer: Ref<WriterEvent>;
  /** Frames of this turn. */
  #frames: OutboundFrame[] = [];

  constructor(writer: Ref<WriterEvent>) {
    this.#writer = writer;
  }

  /** Whether this turn has gathered nothing. */
  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  add(response: OutboundFrame, request: AnsweredInput): void {
    if (request.origin) {
      this.#writer.send({ type: 'frames.send', frames: [response], relatedTo: request });
    } else {
      this.#frames.push(response);
    }
  }

  /** It will not be answered: it was cancelled, or was the answer to something. */
  drop(request: AnsweredInput): void {
    if (request.origin) this.#writer.send({ type: 'request.dropped', request });
  }

  /** Sends what this turn has gathered. */
  send(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#writer.send({ type: 'frames.send', frames });
  }

  /** Lets go of what has not been sent. */
  clear(): void {
    this.#frames = [];
  }
}
