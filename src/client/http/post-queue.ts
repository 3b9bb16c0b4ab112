/**
 * The messages that are on their way, and those that wait for their turn. They start in their order,
 * and go on beside each other. What answers or tells the server something never waits for a request:
 * the server may wait for it in turn.
 */
import { Method } from '../../protocol/methods.ts';
import type { Posting } from './posting.ts';

export interface PostLimits {
  /** Requests that are open at once; more wait. Each has a connection of its own. */
  readonly maxOpenRequests: number;
  /** What may wait, or be sent without the head of an answer, bytes. */
  readonly maxOutboundBytes: number;
}

/** Answers and notifications that are open at once. */
const maxOpenTold = 64;

/** Answers and notifications that may wait until the server is read no more. Each takes some 2 KiB. */
export const maxWaitingTold = 1024;

export class PostQueue {
  readonly #limits: PostLimits;
  readonly #requests: Lane;
  readonly #told: Lane;
  readonly #toldChanged: () => void;
  /** What waits behind `notifications/initialized`, until the server has taken that. */
  #held: Posting[] | undefined = undefined;
  #bytes = 0;

  /** @param toldChanged called when more or fewer answers and notifications wait than before */
  constructor(limits: PostLimits, toldChanged: () => void) {
    this.#limits = limits;
    this.#toldChanged = toldChanged;
    this.#requests = new Lane(limits.maxOpenRequests);
    this.#told = new Lane(maxOpenTold, toldChanged);
  }

  get isFull(): boolean {
    return this.#bytes > this.#limits.maxOutboundBytes;
  }

  /** What waits, or has no head of an answer yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Answers and notifications that wait for their turn. */
  get waitingTold(): number {
    return this.#told.waiting.length + (this.#held?.length ?? 0);
  }

  /** @param left called once it does not count any more */
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

  /** Takes out what was not started. */
  takeWaiting(): readonly Posting[] {
    const held = this.#held?.splice(0) ?? [];
    return [...this.#told.waiting.splice(0), ...this.#requests.waiting.splice(0), ...held];
  }

  /** Ends all requests, and what was not started. */
  cancelRequests(): void {
    for (const posting of [...this.takeWaiting(), ...this.#requests.open]) posting.cancel();
  }

  /** Ends everything. */
  cancel(): void {
    this.cancelRequests();
    for (const posting of this.#told.open) posting.cancel();
  }

  /** Resolves once the server has taken, or refused, what it is being told. */
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

  /** Over a connection of its own, a request could overtake it. */
  #holdUntil(ended: Promise<void>): void {
    this.#held = [];
    void ended.then(() => {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const posting of held) this.#pass(posting);
    });
  }
}

/** Starts so many at once, in order. */
class Lane {
  readonly open = new Set<Posting>();
  readonly waiting: Posting[] = [];
  readonly #most: number;
  readonly #changed: (() => void) | undefined;

  /** @param changed called when more or fewer wait than before */
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
