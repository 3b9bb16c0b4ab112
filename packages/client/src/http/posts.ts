/** The messages of a channel on their way to the server: they wait, are sent, and are cancelled. */
import type { FramesToSend } from '../../../../src/machines/peer-ports.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { Post } from './post.ts';
import type { PostingChannel } from './post.ts';

/** The channel, as the queue of its messages sees it. */
export interface PostedChannel extends PostingChannel {
  /** Whether the server understands a cancellation message. */
  readonly takesCancellations: boolean;
  /** The number of answers and notifications that wait for the server has changed. */
  watchAnswers(): void;
}

/** Answers and notifications that are open at once. */
const maxOpenTold = 64;

/**
 * How many answers and notifications may wait before the server is no longer read. Each takes about
 * 2 KiB.
 */
export const maxWaitingTold = 1024;

export class Posts {
  readonly #channel: PostedChannel;
  readonly #requests: Lane;
  readonly #told: Lane;
  /** Messages that wait until the server has accepted `notifications/initialized`. */
  #held: Post[] | undefined = undefined;
  #bytes = 0;

  constructor(channel: PostedChannel) {
    this.#channel = channel;
    this.#requests = new Lane(channel.options.limits.maxOpenRequests);
    this.#told = new Lane(maxOpenTold, () => channel.watchAnswers());
  }

  get isFull(): boolean {
    return this.#bytes > this.#channel.options.limits.maxOutboundBytes;
  }

  /** The bytes that wait, or have no head of an answer yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of answers and notifications that wait for their turn. */
  get waitingTold(): number {
    return this.#told.waiting.length + (this.#held?.length ?? 0);
  }

  /**
   * Sends frames, each with a request of its own. @param left called when the queue has become
   * shorter
   */
  post({ frames, reportTo, receipt }: FramesToSend, left: () => void): void {
    let undelivered = frames.length;
    const delivered =
      receipt === undefined
        ? undefined
        : (): void => {
            if (--undelivered === 0) reportTo?.send({ type: 'frames.delivered', receipt });
          };
    const callbacks = { reportTo, receipt, delivered, left };
    for (const frame of frames) {
      const body = encodeFrame(frame, (_, error) =>
        reportTo?.send({ type: 'frame.rejected', frame, error, receipt }),
      ).trimEnd();
      // A host does not answer batches.
      if (body === '' || 'length' in frame) continue;
      const post = new Post(frame, body, this.#channel, callbacks);
      if (!this.#takesBack(post)) this.#add(post);
    }
  }

  /** Sends an unserved message as if it had never been sent. */
  sendAgain(post: Post): void {
    post.cancel();
    this.#add(post.again());
  }

  /** Removes and returns the messages that were not started. */
  takeWaiting(): readonly Post[] {
    const held = this.#held?.splice(0) ?? [];
    return [...this.#told.waiting.splice(0), ...this.#requests.waiting.splice(0), ...held];
  }

  /** Ends all requests, and all messages that were not started. */
  cancelRequests(): void {
    for (const post of [...this.takeWaiting(), ...this.#requests.open]) post.cancel();
  }

  /** Ends everything. */
  cancel(): void {
    this.cancelRequests();
    for (const post of this.#told.open) post.cancel();
  }

  /** Resolves once the server has accepted or refused the answers and notifications under way. */
  async told(): Promise<void> {
    await Promise.all([...this.#told.open].map(({ ended }) => ended));
  }

  /** Resolves once each message under way has the head of its answer, or can no longer get it. */
  async headed(): Promise<void> {
    const open = [...this.#requests.open, ...this.#told.open];
    await Promise.all(open.map((post) => post.headed));
  }

  /** Handles a message that cancels a request; returns whether nothing more has to be done. */
  #takesBack(post: Post): boolean {
    if (post.method !== Method.cancelled) return false;
    const request = this.#find(post.params?.['requestId']);
    if (request?.revision === undefined && request?.isWaiting === false) {
      // Nothing needs the rest of its answer.
      void post.ended.then(() => request.cancel());
      return false;
    }
    if (!request && this.#channel.takesCancellations) return false;
    request?.cancel();
    post.callbacks.delivered?.();
    return true;
  }

  /** The request with this id, if it has not ended. */
  #find(id: unknown): Post | undefined {
    const posts = [...this.#requests.open, ...this.#requests.waiting, ...(this.#held ?? [])];
    return posts.find((post) => post.id !== undefined && post.id === id);
  }

  #add(post: Post): void {
    const { length } = post.body;
    this.#bytes += length;
    void post.headed.then(() => {
      this.#bytes -= length;
      post.callbacks.left?.();
    });
    this.#pass(post);
  }

  #pass(post: Post): void {
    if (this.#held) {
      this.#held.push(post);
      return this.#channel.watchAnswers();
    }
    (post.kind === 'request' ? this.#requests : this.#told).add(post);
    if (post.method === Method.initialized) this.#holdUntil(post.ended);
  }

  /** Each POST has its own connection, so a request could overtake it. */
  #holdUntil(ended: Promise<void>): void {
    this.#held = [];
    void ended.then(() => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const post of held) this.#pass(post);
    });
  }
}

/** Runs a limited number of messages at once, in order. */
class Lane {
  readonly open = new Set<Post>();
  readonly waiting: Post[] = [];
  readonly #most: number;
  readonly #changed: (() => void) | undefined;

  /** @param changed called when the number of waiting messages changes */
  constructor(most: number, changed?: () => void) {
    this.#most = most;
    this.#changed = changed;
  }

  add(post: Post): void {
    this.waiting.push(post);
    this.#startNext();
    this.#changed?.();
  }

  #startNext(): void {
    while (this.open.size < this.#most) {
      const post = this.waiting.shift();
      if (!post) return;
      // It was cancelled.
      if (!post.isWaiting) continue;
      this.open.add(post);
      void post.send();
      void post.ended.then(() => {
        this.open.delete(post);
        this.#startNext();
        this.#changed?.();
      });
    }
  }
}
