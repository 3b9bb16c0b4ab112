/**
 * The books of the correlation: which requests are pending, until when, and what is known of those
 * that have ended.
 *
 * They are kept by the numbers of the requests, whose {@link RequestIds} read back exactly what they
 * gave.
 */
import type { PeerRequest } from '../../machines/peer-ports.ts';
import type { InboundResponse, OutboundFrame } from '../../protocol/frames.ts';
import type { Clock } from '../clock.ts';
import type { ActorFactName, Report } from '../facts.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import { Pending } from './pending-request.ts';
import type { RequestIds } from './request-ids.ts';
import { UnexpectedResponses } from './unexpected-responses.ts';
import type { Unanswered } from './unexpected-responses.ts';

export interface PendingRequestsOptions {
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** Gives the requests their ids. */
  readonly requestIds: RequestIds;
}

/** A map that has taken fewer requests is not worth another one. */
const leastAdded = 64;

export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #deadlines: DeadlineQueue<Pending>;
  #pending = new Map<number, Pending>();
  /** How many the map has taken. */
  #added = 0;
  #unexpected: UnexpectedResponses | undefined = undefined;
  /** The first numbers of those that a session had not served before it ended. */
  #returned: WeakMap<Pending, number> | undefined = undefined;

  /** @param onDue called with each that has no time left */
  constructor(options: PendingRequestsOptions, onDue: (pending: Pending) => void) {
    this.#options = options;
    this.#deadlines = new DeadlineQueue(options.clock, onDue);
  }

  /** Live: what is pending, in the order of asking. */
  get byNumber(): ReadonlyMap<number, Pending> {
    return this.#pending;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** All of them, whatever becomes of them meanwhile. */
  get all(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  /** What is held, in the order in which it is to be sent. */
  get waiting(): readonly Pending[] {
    const waiting = this.all.filter(({ state }) => state === 'held');
    const returned = this.#returned;
    if (!returned) return waiting;
    const placeOf = (pending: Pending) => returned.get(pending) ?? pending.number;
    return waiting.sort((one, other) => placeOf(one) - placeOf(other));
  }

  /** @param now the clock's milliseconds */
  add(request: PeerRequest, now: number): Pending {
    const pending = new Pending(this.#options.requestIds, request, now);
    request.ticket = pending;
    this.#pending.set(pending.number, pending);
    this.#added++;
    this.#deadlines.add(pending, Math.min(request.timeoutMs, request.maxTotalMs), now);
    return pending;
  }

  /**
   * Goes on with a new map if the old one has taken many: V8 keeps what has ended in the tables that
   * a map has outgrown, see `CallsInFlight`.
   */
  renewMap(): void {
    if (this.#added < leastAdded + 4 * this.#pending.size) return;
    this.#pending = new Map(this.#pending);
    this.#added = 0;
  }

  /** The number that an id stands for; undefined if it is none of ours. */
  numberOf(id: unknown): number | undefined {
    return this.#options.requestIds.read(id);
  }

  /** The pending request that an id belongs to. */
  find(id: unknown): Pending | undefined {
    const number = this.numberOf(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  has(pending: Pending): boolean {
    return this.#pending.get(pending.number) === pending;
  }

  /** Gives it so much time from now on. @param now the clock's milliseconds */
  extend(pending: Pending, durationMs: number, now: number): void {
    this.#deadlines.add(pending, durationMs, now);
  }

  /** Takes a request out of the books that has its answer. */
  forget(pending: Pending): void {
    this.#pending.delete(pending.number);
    this.#deadlines.remove(pending);
  }

  /** Takes a request out of the books that ends without an answer. */
  end(pending: Pending, ending: Unanswered): void {
    this.forget(pending);
    this.#strays.note(pending.number, ending);
  }

  /** A response has come that no pending request waits for. */
  unexpected(response: InboundResponse): void {
    this.#strays.take(response, this.numberOf(response.id));
  }

  /**
   * It waits once more, under another id, in the place that it had. Its time goes on.
   *
   * @param frame that was not served
   * @returns false, and does nothing, if it has been returned before or is of the handshake
   */
  returns(pending: Pending, frame: OutboundFrame): boolean {
    const returned = (this.#returned ??= new WeakMap());
    if (pending.request.isHandshake || returned.has(pending)) return false;
    returned.set(pending, pending.number);
    this.#pending.delete(pending.number);
    this.#strays.note(pending.number, 'cancelled');
    pending.renew(frame);
    this.#pending.set(pending.number, pending);
    return true;
  }

  /** Stops the timer. */
  stop(): void {
    this.#deadlines.clear();
  }

  /** Made for the first request that has no answer. */
  get #strays(): UnexpectedResponses {
    return (this.#unexpected ??= new UnexpectedResponses(this.#options.report));
  }
}
