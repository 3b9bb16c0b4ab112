/**
 * The peer's requests whose answers are due: each runs a handler, waits for its turn, or is
 * cancelled. And the calls that outlive theirs.
 */
import { RuntimeError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type {
  OutboundResponse,
  InboundRequestId,
  RelatedRequest,
  WireError,
} from '../../protocol/frames.ts';
import type { RequestOrigin } from '../../protocol/request-origin.ts';
import type { Call } from './call.ts';
import type { HoldReason, QueueBounds } from './call-queue.ts';
import { inPlaceOf } from '../exchange.ts';
import type { CallRounds, DetachedWork, RequestHandler, SuspendedCall } from '../exchange.ts';
import { HandlerRuns } from './handler-runs.ts';
import type { HandlerRunsHome } from './handler-runs.ts';
import { afterThis } from '../microtask.ts';
import type { Shares } from '../room.ts';
import { PartyQueues } from './party-queues.ts';
import { overloaded } from './refusals.ts';
import { TaskRun } from './task-run.ts';

export interface CallOptions {
  readonly limits: QueueBounds;
  readonly report: Report<ActorFactName>;
  /** Towards which what its clients hold in memory counts. */
  readonly shares: Shares;
  /**
   * What serves calls that ask their client by ending; missing if no call may.
   * @param onSettled called when one of them that was suspended has settled
   */
  makeRounds?(onSettled: () => void): CallRounds;
}

/** What a snapshot shows of the calls. */
export interface CallsView {
  /** The peer's requests in flight by id, and those calls that outlive theirs. */
  readonly calls: Iterable<Call | SuspendedCall>;
  /** How many of them run and count as running. */
  readonly running: number;
  /** How many wait for their turn. */
  readonly waiting: number;
  /** Why no call is started at present. */
  readonly holds: Iterable<HoldReason>;
}

/** A map that has taken fewer calls is not worth another one. */
const leastAdded = 64;

export class CallsInFlight implements HandlerRunsHome {
  readonly #options: CallOptions;
  readonly #onLate: () => void;
  #calls = new Map<InboundRequestId | RequestOrigin, Call>();
  /** Calls that the map has taken. */
  #added = 0;
  readonly #queue: PartyQueues;
  readonly #runs: HandlerRuns;
  /** Calls whose request has been answered: they outlive it. Made for the first. */
  #detached: Set<Call> | undefined = undefined;
  /** Those of them that begin once this turn's answers are with the writer. */
  readonly #starting: Call[] = [];
  #rounds: CallRounds | undefined = undefined;
  readonly #atFlow: (() => void)[] = [];
  /** The handlers in rounds, by the handlers themselves. */
  #inRounds: WeakMap<RequestHandler, RequestHandler> | undefined = undefined;

  /**
   * @param onLate called after something has happened outside of a turn: a promise has settled, a
   *   place is free
   */
  constructor(options: CallOptions, onLate: () => void) {
    this.#options = options;
    this.#onLate = onLate;
    this.#runs = new HandlerRuns(this);
    this.#queue = new PartyQueues(options.limits, options.shares, this.#runs);
  }

  get report(): Report<ActorFactName> {
    return this.#options.report;
  }

  /** The call of a request: by the peer's id, or by its origin if others may have the same id. */
  find(request: RelatedRequest): Call | undefined {
    return this.#calls.get(keyOf(request));
  }

  get view(): CallsView {
    const { running, waiting, holds } = this.#queue;
    const suspended = this.#rounds?.waiting ?? [];
    const calls = [...this.#unended, ...suspended];
    return { calls, running, waiting, holds };
  }

  /** The calls whose requests are not answered, and those that outlive theirs. */
  get #unended(): readonly Call[] {
    return [...this.#calls.values(), ...(this.#detached ?? [])];
  }

  /** True if nothing is in flight and no handler still runs. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#runs.unsettled === 0 && (this.#rounds?.isIdle ?? true);
  }

  /** A handler that may ask its client by ending the call, and goes on with a retry. */
  inRounds(handler: RequestHandler): RequestHandler {
    const known = this.#inRounds?.get(handler);
    if (known) return known;
    const rounds = (this.#rounds ??= this.#options.makeRounds?.(this.#onLate));
    if (!rounds) return handler;
    const made = inPlaceOf(handler, (_, exchange) => rounds.serve(handler, exchange));
    (this.#inRounds ??= new WeakMap()).set(handler, made);
    return made;
  }

  /**
   * Runs a call, or lets it wait. If too many wait, it is answered with a retryable error.
   * @param receivedAt the clock's milliseconds
   */
  start(call: Call, receivedAt: number): void {
    call.receivedAt = receivedAt;
    this.#calls.set(keyOf(call), call);
    this.#added++;
    if (!this.#queue.add(call)) this.#refuseOverload(call);
  }

  /** Ends a call without an answer. */
  cancel(call: Call, reason: RuntimeError): void {
    this.#forget(call);
    call.abort(reason);
    call.replies.drop(call);
  }

  /** The session begins to end: calls may still end by themselves. */
  close(): void {
    for (const call of this.#unended) call.closing();
    this.#rounds?.close(ended());
  }

  /** Ends all calls, each with this error for its answer. */
  abandon(error: WireError): void {
    const calls = this.#unended;
    // An error costs its stack, and most sessions end with nothing in flight.
    if (calls.length === 0 && !this.#rounds) return;
    const reason = ended();
    this.#rounds?.close(reason);
    for (const call of calls) {
      this.#forget(call);
      call.abort(reason);
      call.replies.add(call.refused(error), call);
    }
  }

  /** The session is over: nothing is called any more. */
  leave(): void {
    this.#queue.leave();
  }

  /** Starts no call until {@link release}. */
  hold(reason: HoldReason): void {
    this.#queue.hold(reason);
  }

  release(reason: HoldReason): void {
    this.#queue.release(reason);
    if (reason === 'output') for (const callback of this.#atFlow.splice(0)) callback();
  }

  /** Whether the peer reads what it is sent. */
  get isWritable(): boolean {
    return !this.#queue.holds.includes('output');
  }

  /** Calls back once the peer reads. */
  whenWritable(callback: () => void): void {
    if (this.isWritable) callback();
    else this.#atFlow.push(callback);
  }

  /** Whether a call waits to be started, or begins once the turn's answers are sent. */
  get isStarting(): boolean {
    return this.#queue.waiting > 0 || this.#starting.length > 0;
  }

  /** Starts what waits, as far as there is room: before the turn's answers are sent. */
  startWaiting(): void {
    this.#queue.startWaiting();
  }

  /** Starts the calls that outlive their requests: after the turn's answers are sent. */
  startDetached(): void {
    if (this.#starting.length === 0) return;
    for (const call of this.#starting.splice(0)) if (call.state !== 'ended') this.#runs.run(call);
  }

  /**
   * Goes on with a new map, once so many calls have come that copying costs nothing. As a map grows
   * and shrinks V8 leaves its tables linked, each to the next one: once the first of them is old,
   * no minor collection frees the others, nor the ended calls that stand in them; to move and to
   * mark all that took a quarter of a call's time.
   */
  renewMap(): void {
    if (this.#added < leastAdded + 4 * this.#calls.size) return;
    this.#calls = new Map(this.#calls);
    this.#added = 0;
  }

  /** Takes work that outlives its call; it begins at the end of the turn. Gives what cancels it. */
  detach(call: Call, handler: RequestHandler, work: DetachedWork): (reason: Error) => void {
    const run = new TaskRun(call, handler, work);
    run.state = 'running';
    (this.#detached ??= new Set()).add(run);
    this.#starting.push(run);
    return (reason) => {
      if (run.state === 'ended') return;
      this.#forget(run);
      run.abort(reason);
    };
  }

  /** Frees the place of a call that only waits for others. */
  park(call: Call): void {
    if (this.#detached?.has(call)) return;
    this.#queue.park(call);
    // A handler that has awaited something is in no turn of the router's. Who comes later starts in
    // a turn of its own.
    if (this.#queue.waiting > 0) afterThis(this.#onLate);
  }

  resume(call: Call): void {
    if (!this.#detached?.has(call)) this.#queue.resume(call);
  }

  answered(call: Call, response: OutboundResponse): void {
    // First its end: who takes the answer may want to end it, too.
    this.#forget(call);
    call.end();
    call.replies.add(response, call);
  }

  settled(): void {
    this.#onLate();
  }

  #forget(call: Call): void {
    if (this.#detached?.delete(call)) return;
    this.#calls.delete(keyOf(call));
    this.#queue.remove(call);
  }

  #refuseOverload(call: Call): void {
    const { size, replies } = call;
    const { waiting, waitingBytes } = this.#queue;
    const error = overloaded(this.#options.limits, { waiting, waitingBytes, size });
    this.#options.report({ level: 'warning', name: 'request.refused', message: error.message });
    this.#calls.delete(keyOf(call));
    replies.add(call.refused(error), call);
  }
}

function keyOf({ id, origin }: RelatedRequest): InboundRequestId | RequestOrigin {
  return origin?.idScope === 'request' ? origin : id;
}

function ended(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
