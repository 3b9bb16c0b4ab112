/**
 * The messages of a channel: how they are sent, how they are cancelled, and how their answers are
 * read.
 */
import type { Report } from '../../actors/facts.ts';
import type { FramesToSend } from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { InboundFrame, OutboundMessage } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { ToolParameters } from './tool-headers.ts';
import { OutgoingMessage, Posting } from './post.ts';
import type { PostingChannel } from './post.ts';

/** The channel, as its messages see it. */
export interface PostedChannel extends PostingChannel {
  /** Whether the server understands a cancellation message. */
  readonly takesCancellations: boolean;
  /** The number of answers and notifications that wait for the server has changed. */
  watchAnswers(): void;
}

/** The options for posting. */
export interface PostOptions {
  readonly limits: PostLimits;
  readonly report: Report;
  /** The parameters of the server's tools, as far as the connection's channels have learnt them. */
  readonly tools: ToolParameters;
}

type Hearers = Pick<FramesToSend, 'rejected' | 'returned' | 'taken'>;

export class ChannelPosts {
  readonly queue: PostQueue;
  readonly #channel: PostedChannel;
  readonly #options: PostOptions;
  readonly #deliver: (frames: readonly InboundFrame[]) => void;

  constructor(
    channel: PostedChannel,
    options: PostOptions,
    deliver: (frames: readonly InboundFrame[]) => void,
  ) {
    this.#channel = channel;
    this.#options = options;
    this.#deliver = deliver;
    this.queue = new PostQueue(options.limits, () => channel.watchAnswers());
  }

  /**
   * Sends frames, each with a request of its own. @param left called when the queue has become
   * shorter
   */
  post({ frames, taken, rejected, returned }: FramesToSend, left: () => void): void {
    let untaken = frames.length;
    const allTaken = taken && (() => void (--untaken === 0 && taken()));
    const hearers = { rejected, returned, taken: allTaken };
    for (const frame of frames) {
      const body = encodeFrame(frame, (_, error) => rejected?.(error, frame)).trimEnd();
      // A host does not answer batches.
      if (body === '' || 'length' in frame) continue;
      const message = this.#messageOf(frame, body, hearers);
      if (!this.#takesBack(message, left))
        this.queue.add(new Posting(message, this.#channel), left);
    }
  }

  /** Sends an unserved message as if it had never been sent. */
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

  /** Handles a message that cancels a request; returns whether it was one. */
  #takesBack(message: OutgoingMessage, left: () => void): boolean {
    if (message.method !== Method.cancelled) return false;
    const posting = this.queue.find(message.params?.['requestId']);
    if (posting?.message.revision === undefined && posting?.isStarted) {
      const told = new Posting(message, this.#channel);
      // Nothing needs the rest of its answer.
      void told.ended.then(() => posting.cancel());
      this.queue.add(told, left);
      return true;
    }
    if (!posting && this.#channel.takesCancellations) return false;
    posting?.cancel();
    message.taken();
    return true;
  }

  /**
   * The frames of an answer that are passed on; tools that must not be called are removed from
   * lists.
   */
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

export interface PostLimits {
  /** Requests that are open at once; more wait. Each has a connection of its own. */
  readonly maxOpenRequests: number;
  /** How many bytes may be waiting, or sent without the head of an answer. */
  readonly maxOutboundBytes: number;
}

/** Answers and notifications that are open at once. */
const maxOpenTold = 64;

/**
 * How many answers and notifications may wait before the server is no longer read. Each takes about
 * 2 KiB.
 */
export const maxWaitingTold = 1024;

export class PostQueue {
  readonly #limits: PostLimits;
  readonly #requests: Lane;
  readonly #told: Lane;
  readonly #toldChanged: () => void;
  /** Messages that wait until the server has accepted `notifications/initialized`. */
  #held: Posting[] | undefined = undefined;
  #bytes = 0;

  /** @param toldChanged called when the number of waiting answers and notifications changes */
  constructor(limits: PostLimits, toldChanged: () => void) {
    this.#limits = limits;
    this.#toldChanged = toldChanged;
    this.#requests = new Lane(limits.maxOpenRequests);
    this.#told = new Lane(maxOpenTold, toldChanged);
  }

  get isFull(): boolean {
    return this.#bytes > this.#limits.maxOutboundBytes;
  }

  /** The bytes that wait, or have no head of an answer yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of answers and notifications that wait for their turn. */
  get waitingTold(): number {
    return this.#told.waiting.length + (this.#held?.length ?? 0);
  }

  /** @param left called once it no longer counts */
  add(posting: Posting, left: () => void): void {
    const { length } = posting.message.body;
    this.#bytes += length;
    void posting.headed.then(() => {
      this.#bytes -= length;
      left();
    });
    this.#pass(posting);
  }

  /** The request with this id, if it has not ended. */
  find(id: unknown): Posting | undefined {
    const requests = [...this.#requests.open, ...this.#requests.waiting, ...(this.#held ?? [])];
    return requests.find(({ message }) => message.id !== undefined && message.id === id);
  }

  /** Removes and returns the messages that were not started. */
  takeWaiting(): readonly Posting[] {
    const held = this.#held?.splice(0) ?? [];
    return [...this.#told.waiting.splice(0), ...this.#requests.waiting.splice(0), ...held];
  }

  /** Ends all requests, and all messages that were not started. */
  cancelRequests(): void {
    for (const posting of [...this.takeWaiting(), ...this.#requests.open]) posting.cancel();
  }

  /** Ends everything. */
  cancel(): void {
    this.cancelRequests();
    for (const posting of this.#told.open) posting.cancel();
  }

  /** Resolves once the server has accepted or refused the answers and notifications under way. */
  async told(): Promise<void> {
    await Promise.all([...this.#told.open].map(({ ended }) => ended));
  }

  #pass(posting: Posting): void {
    if (this.#held) {
      this.#held.push(posting);
      this.#toldChanged();
      return;
    }
    const { kind, method } = posting.message;
    (kind === 'request' ? this.#requests : this.#told).add(posting);
    if (method === Method.initialized) this.#holdUntil(posting.ended);
  }

  /** Each POST has its own connection, so a request could overtake it. */
  #holdUntil(ended: Promise<void>): void {
    this.#held = [];
    void ended.then(() => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const posting of held) this.#pass(posting);
    });
  }
}

/** Runs a limited number of messages at once, in order. */
class Lane {
  readonly open = new Set<Posting>();
  readonly waiting: Posting[] = [];
  readonly #most: number;
  readonly #changed: (() => void) | undefined;

  /** @param changed called when the number of waiting messages changes */
  constructor(most: number, changed?: () => void) {
    this.#most = most;
    this.#changed = changed;
  }

  add(posting: Posting): void {
    this.waiting.push(posting);
    this.#startNext();
    this.#changed?.();
  }

  #startNext(): void {
    while (this.open.size < this.#most) {
      const posting = this.waiting.shift();
      if (!posting) return;
      if (posting.isOver) continue;
      this.open.add(posting);
      void posting.send();
      void posting.ended.then(() => {
        this.open.delete(posting);
        this.#startNext();
        this.#changed?.();
      });
    }
  }
}
