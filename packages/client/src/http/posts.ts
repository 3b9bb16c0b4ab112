/** Outgoing message queue of a channel. */
import type { FramesToSend } from '../../../../src/machines/peer-ports.ts';
import { encodeFrame } from '../../../../src/protocol/codec.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { Post } from './post.ts';
import type { PostingChannel } from './post.ts';

/** The channel as seen by its message queue. */
export interface PostedChannel extends PostingChannel {
  /** True if the server understands cancellation messages. */
  readonly takesCancellations: boolean;
  /** Called when the number of queued answers and notifications changes. */
  watchAnswers(): void;
}

/** Maximum concurrent answers and notifications. */
const maxOpenTold = 64;

/**
 * Queued answers and notifications, about 2 KiB each, above which reading from the server is
 * paused.
 */
export const maxWaitingTold = 1024;

export class Posts {
  readonly #channel: PostedChannel;
  readonly #requests: Lane;
  readonly #told: Lane;
  /** Messages held until the server has accepted `notifications/initialized`. */
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

  /** Bytes queued, or sent without response headers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of queued answers and notifications. */
  get waitingTold(): number {
    return this.#told.waiting.length + (this.#held?.length ?? 0);
  }

  /** Sends frames, each in a POST of its own. @param left called when the queue got shorter */
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

  /** Sends an unserved message as if never sent. */
  sendAgain(post: Post): void {
    post.cancel();
    this.#add(post.again());
  }

  /** Removes and returns the messages not started yet. */
  takeWaiting(): readonly Post[] {
    const held = this.#held?.splice(0) ?? [];
    return [...this.#told.waiting.splice(0), ...this.#requests.waiting.splice(0), ...held];
  }

  /** Cancels all requests, and all messages not started yet. */
  cancelRequests(): void {
    for (const post of [...this.takeWaiting(), ...this.#requests.open]) post.cancel();
  }

  /** Cancels everything. */
  cancel(): void {
    this.cancelRequests();
    for (const post of this.#told.open) post.cancel();
  }

  /** Resolves once the server has accepted or rejected the answers and notifications in flight. */
  async told(): Promise<void> {
    await Promise.all([...this.#told.open].map(({ ended }) => ended));
  }

  /** Resolves once each message in flight has its response headers, or can no longer get them. */
  async headed(): Promise<void> {
    const open = [...this.#requests.open, ...this.#told.open];
    await Promise.all(open.map((post) => post.headed));
  }

  /** Handles a cancellation message; returns true if it need not be sent. */
  #takesBack(post: Post): boolean {
    if (post.method !== Method.cancelled) return false;
    const request = this.#find(post.params?.['requestId']);
    if (request?.revision === undefined && request?.isWaiting === false) {
      // The rest of the cancelled request's answer is not needed.
      void post.ended.then(() => request.cancel());
      return false;
    }
    if (!request && this.#channel.takesCancellations) return false;
    request?.cancel();
    post.callbacks.delivered?.();
    return true;
  }

  /** The unfinished request with this id. */
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

  /**
   * Holds later messages: each POST has its own connection, so a request could overtake this one.
   */
  #holdUntil(ended: Promise<void>): void {
    this.#held = [];
    void ended.then(() => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const post of held) this.#pass(post);
    });
  }
}

/** Sends a limited number of messages at once, FIFO. */
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
      // Cancelled while queued.
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
