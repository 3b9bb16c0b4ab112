/** The messages of a channel: how they leave, what takes them back, and what is made of their answers. */
import type { FramesToSend } from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { InboundFrame, OutboundMessage } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { HttpChannelOptions } from './channel-options.ts';
import { OutgoingMessage } from './outgoing-message.ts';
import { PostQueue } from './post-queue.ts';
import { Posting } from './posting.ts';
import type { PostingChannel } from './posting.ts';

/** The channel, as it knows its messages. */
export interface PostedChannel extends PostingChannel {
  /** Whether the server understands that a request is taken back by another message. */
  readonly takesCancellations: boolean;
  /** More or fewer answers and notifications wait for the server than before. */
  watchAnswers(): void;
}

type Hearers = Pick<FramesToSend, 'rejected' | 'returned' | 'taken'>;

export class ChannelPosts {
  readonly queue: PostQueue;
  readonly #channel: PostedChannel;
  readonly #options: HttpChannelOptions;
  readonly #deliver: (frames: readonly InboundFrame[]) => void;

  constructor(
    channel: PostedChannel,
    options: HttpChannelOptions,
    deliver: (frames: readonly InboundFrame[]) => void,
  ) {
    this.#channel = channel;
    this.#options = options;
    this.#deliver = deliver;
    this.queue = new PostQueue(options.limits, () => channel.watchAnswers());
  }

  /** Sends frames, each with a request of its own. @param left called when less waits than before */
  post({ frames, taken, rejected, returned }: FramesToSend, left: () => void): void {
    let untaken = frames.length;
    const allTaken = taken && (() => void (--untaken === 0 && taken()));
    const hearers = { rejected, returned, taken: allTaken };
    for (const frame of frames) {
      const body = encodeFrame(frame, (_, error) => rejected?.(error, frame)).trimEnd();
      // A host answers no batches.
      if (body === '' || 'length' in frame) continue;
      const message = this.#messageOf(frame, body, hearers);
      if (!this.#takesBack(message, left))
        this.queue.add(new Posting(message, this.#channel), left);
    }
  }

  /** Sends what was not served, as if it had not been sent. */
  sendAgain(posting: Posting): void {
    posting.cancel();
    this.queue.add(new Posting(posting.message, this.#channel), () => {});
  }

  #messageOf(
    frame: OutboundMessage,
    body: string,
    { rejected, returned, taken }: Hearers,
  ): OutgoingMessage {
    const message: OutgoingMessage = new OutgoingMessage(frame, body, {
      taken: () => taken?.(),
      heard: (frames) => {
        const delivered = frames.flatMap((heard) => this.#read(heard, message));
        if (delivered.length > 0) this.#deliver(delivered);
      },
      invalid: (fault) => {
        this.#problem('frame.invalid', `On the answer to ${message.what}: ${fault}`);
      },
      failed: (error) => {
        if (rejected && message.kind !== 'response') rejected(error, frame);
        else this.#problem('output.lost', error.message);
      },
      returned: (error) => {
        if (returned && message.kind === 'request') returned(error, frame);
        else if (message.kind !== 'response') rejected?.(error, frame);
      },
    });
    return message;
  }

  /** Whether a message takes back a request, and was seen to. */
  #takesBack(message: OutgoingMessage, left: () => void): boolean {
    if (message.method !== Method.cancelled) return false;
    const posting = this.queue.find(message.params?.['requestId']);
    if (posting?.message.revision === undefined && posting?.isStarted) {
      const told = new Posting(message, this.#channel);
      // Whatever still came on its answer would be for nobody.
      void told.ended.then(() => posting.cancel());
      this.queue.add(told, left);
      return true;
    }
    if (!posting && this.#channel.takesCancellations) return false;
    posting?.cancel();
    message.taken();
    return true;
  }

  /** What an answer may hold; the tools of a list without those that must not be called. */
  #read(frame: InboundFrame, { revision, method, what }: OutgoingMessage): readonly InboundFrame[] {
    if (revision === undefined) return [frame];
    if (frame.kind === 'request') {
      const fault = `On the answer to ${what}: ${frame.method}, and servers of ${revision} send no requests`;
      this.#problem('request.unexpected', fault);
      return [];
    }
    if (method !== 'tools/list' || frame.kind !== 'response' || !frame.outcome.ok) return [frame];
    const result = this.#options.tools.read(frame.outcome.result);
    return [{ ...frame, outcome: { ok: true, result } }];
  }

  #problem(name: string, message: string): void {
    this.#options.report({ level: 'warning', name, message });
  }
}
