/**
 * The peer's requests whose answers are due: each runs a handler, waits for its turn, or is
 * cancelled. And the calls that outlive theirs.
 */
import type { RootsRef } from '../../machines/session-context.ts';
import type { RouterInput } from '../../machines/peer-ports.ts';
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import {
  ErrorCode,
  RuntimeError,
  errorResponse,
  internalError,
  textOfError,
} from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type {
  OutboundResponse,
  InboundRequestId,
  RelatedRequest,
  WireError,
} from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { RequestOrigin } from '../../protocol/request-origin.ts';
import { turnEnd } from '../clock.ts';
import { wrapHandler, isThenable } from '../request-context.ts';
import type {
  SuspendableCallService,
  BackgroundRun,
  CancelRun,
  RequestContext,
  RequestHandler,
  SuspendedCall,
} from '../request-context.ts';
import type { Quotas } from '../memory-budget.ts';
import type { Call, CallScope } from './call.ts';
import { CallQueue, FairCallQueue, ConcurrencyLimit, overloadedError } from './call-queue.ts';
import type { CallRunner, HoldReason, QueueBounds } from './call-queue.ts';
import { TaskRun } from './task-run.ts';

export interface CallsInFlightOptions {
  readonly limits: QueueBounds;
  readonly report: Report<ActorFactName>;
  /** What its clients hold in memory counts towards these. */
  readonly quotas: Quotas;
  /** How the server describes itself to its clients. A host has no such results. */
  readonly server?: ServerDescription;
  /** The machine of the client's roots; undefined for a client that declares none. */
  roots?(): RootsRef | undefined;
  /**
   * What serves calls that ask their client by ending; missing if no call may.
   * @param onSettled called when one of them that was suspended has settled
   */
  createSuspendableCalls?(onSettled: () => void): SuspendableCallService;
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

/** The router, as the calls know it. */
export interface CallsOwner {
  /** Who takes what the calls send. */
  readonly input: RouterInput;
  /** True once the session ends: no new request is served. */
  readonly isClosing: boolean;
  /** Something has happened outside of a turn: a promise has settled, or a place is free. */
  scheduleTurnEnd(): void;
}

/** A map that has taken fewer calls is not worth another one. */
const leastAdded = 64;

export class CallsInFlight implements CallScope, CallRunner {
  readonly #options: CallsInFlightOptions;
  readonly #owner: CallsOwner;
  readonly session: object | undefined;
  #calls = new Map<InboundRequestId | RequestOrigin, Call>();
  /** Calls that the map has taken. */
  #added = 0;
  /** How many calls run and wait. */
  readonly concurrency: ConcurrencyLimit;
  /** Of a session that is one client's; made for its first call. */
  #queue: CallQueue | undefined = undefined;
  /** For the calls of strangers without a session. */
  #clientQueues: FairCallQueue | undefined = undefined;
  /**
   * Handlers whose promise is open, those of cancelled calls included: they may still be cleaning up.
   */
  #unsettled = 0;
  /** Calls whose request has been answered: they outlive it. Made for the first. */
  #outliving: Set<Call> | undefined = undefined;
  /** Those of them that begin once this turn's answers are with the writer. */
  readonly detached: Call[] = [];
  #suspendableCalls: SuspendableCallService | undefined = undefined;
  readonly #atFlow: (() => void)[] = [];
  /** The handlers in rounds, by the handlers themselves. */
  #suspendableHandlers: WeakMap<RequestHandler, RequestHandler> | undefined = undefined;

  constructor(options: CallsInFlightOptions, owner: CallsOwner) {
    this.#options = options;
    this.#owner = owner;
    this.session = owner.input.scope;
    this.concurrency = new ConcurrencyLimit(options.limits);
  }

  get writer(): CallScope['writer'] {
    return this.#owner.input.writer;
  }

  get correlation(): CallScope['correlation'] {
    return this.#owner.input.correlation;
  }

  /** The call of a request: by the peer's id, or by its origin if others may have the same id. */
  find(request: RelatedRequest): Call | undefined {
    return this.#calls.get(keyOf(request));
  }

  get view(): CallsView {
    const { running, waiting, holds } = this.concurrency;
    const suspended = this.#suspendableCalls?.waiting ?? [];
    const calls = [...this.#unended, ...suspended];
    return { calls, running, waiting, holds };
  }

  /** The calls whose requests are not answered, and those that outlive theirs. */
  get #unended(): readonly Call[] {
    return [...this.#calls.values(), ...(this.#outliving ?? [])];
  }

  /** True if nothing is in flight and no handler still runs. */
  get isIdle(): boolean {
    return (
      this.#calls.size === 0 && this.#unsettled === 0 && (this.#suspendableCalls?.isIdle ?? true)
    );
  }

  /** A handler that may ask its client by ending the call, and goes on with a retry. */
  suspendable(handler: RequestHandler): RequestHandler {
    const known = this.#suspendableHandlers?.get(handler);
    if (known) return known;
    const rounds = (this.#suspendableCalls ??= this.#options.createSuspendableCalls?.(() =>
      this.#owner.scheduleTurnEnd(),
    ));
    if (!rounds) return handler;
    const { returnsInputRequired } = handler;
    const serve = (exchange: RequestContext) => rounds.serve(handler, exchange);
    const made = wrapHandler(
      handler,
      returnsInputRequired
        ? (params, exchange) => {
            const choose = (itself: boolean) =>
              itself ? handler(params, exchange) : serve(exchange);
            const itself = returnsInputRequired(exchange);
            return typeof itself === 'boolean' ? choose(itself) : itself.then(choose);
          }
        : (_, exchange) => serve(exchange),
    );
    (this.#suspendableHandlers ??= new WeakMap()).set(handler, made);
    return made;
  }

  /**
   * Runs a call, or lets it wait. If too many wait, it is answered with a retryable error; if its id is in
   * flight, with an error too.
   * @param receivedAt the clock's milliseconds
   */
  start(call: Call, receivedAt: number): void {
    const key = keyOf(call);
    if (this.#calls.has(key)) {
      return call.replies.add(errorResponse(call.id, duplicateId(call.id)), call);
    }
    call.receivedAt = receivedAt;
    if (++this.#added > leastAdded + 4 * this.#calls.size) this.#renewMap();
    this.#calls.set(key, call);
    if (!this.#queueOf(call).add(call)) this.#rejectOverload(call);
  }

  /** Runs a handler, whatever it throws or gives, and makes one response of what comes of it. */
  run(call: Call): void {
    try {
      const result = call.handler(call.params, call);
      const isPromise = result instanceof Promise;
      if (!isPromise && !isThenable(result)) return this.#succeed(call, result);
      this.#unsettled++;
      // A promise of another kind becomes one of the platform, which settles once.
      Promise.resolve(result).then(
        (late) => {
          if (call.state === 'left') return;
          this.#unsettled--;
          this.#succeed(call, late);
          this.#owner.scheduleTurnEnd();
        },
        (error: unknown) => {
          if (call.state === 'left') return;
          this.#unsettled--;
          this.#fail(call, error);
          this.#owner.scheduleTurnEnd();
        },
      );
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #succeed(call: Call, result: unknown): void {
    if (call.state === 'ended') return;
    if (!isJsonObject(result)) {
      const message = `The handler of ${call.method} must give an object, it gave ${inspectValue(result)}`;
      return this.#fail(call, new TypeError(message));
    }
    const { id, peer } = call;
    const { server } = this.#options;
    const projected = server ? peer.dialect.result(result, server) : result;
    this.#answer(call, { jsonrpc: '2.0', id, result: projected });
  }

  #fail(call: Call, error: unknown): void {
    if (call.state === 'ended') return;
    this.#answer(call, errorResponse(call.id, this.#wireError(call, error)));
  }

  #wireError(call: Call, error: unknown): WireError {
    const wireError = call.peer.dialect.wireError(error);
    if (wireError) return wireError;
    this.#options.report({
      level: 'error',
      name: 'handler.failed',
      message: `The handler of ${call.method} failed: ${textOfError(error)}`,
      details: { id: call.id, error },
    });
    return internalError;
  }

  #answer(call: Call, response: OutboundResponse): void {
    // First its end: what takes the answer may want to end it, too.
    this.#forget(call);
    call.end();
    call.replies.add(response, call);
  }

  /** Ends a call without an answer. */
  cancel(call: Call, reason: RuntimeError): void {
    this.#forget(call);
    call.abort(reason);
    call.replies.drop(call);
  }

  /** The session begins to end: calls may still end by themselves. */
  close(): void {
    for (const call of this.#unended) call.onSessionClosing();
    this.#suspendableCalls?.close(ended());
  }

  /** Ends all calls, each with this error for its answer. */
  failAll(error: WireError): void {
    const calls = this.#unended;
    // An error costs its stack, and most sessions end with nothing in flight.
    if (calls.length === 0 && !this.#suspendableCalls) return;
    const reason = ended();
    this.#suspendableCalls?.close(reason);
    for (const call of calls) {
      this.#forget(call);
      call.abort(reason);
      if (call.isResendable) call.replies.drop(call);
      else call.replies.add(call.errorResponse(error), call);
    }
  }

  drop(call: Call): void {
    this.#forget(call);
    call.abort(ended());
    call.replies.drop(call);
    this.#owner.scheduleTurnEnd();
  }

  /** The session is over: no call is added. */
  dispose(): void {
    this.#queue?.close();
    this.#queue = undefined;
    this.#clientQueues?.close();
  }

  /** Starts no call until {@link release}. */
  hold(reason: HoldReason): void {
    this.concurrency.hold(reason);
  }

  release(reason: HoldReason): void {
    this.concurrency.release(reason);
    if (reason === 'output') for (const callback of this.#atFlow.splice(0)) callback();
  }

  roots(): RootsRef | undefined {
    return this.#options.roots?.();
  }

  isClosing(): boolean {
    return this.#owner.isClosing;
  }

  isWritable(): boolean {
    return !this.concurrency.holds.includes('output');
  }

  whenWritable(callback: () => void): void {
    if (this.isWritable()) callback();
    else this.#atFlow.push(callback);
  }

  /** Starts what waits, as far as there is room. */
  startWaiting(): void {
    this.#queue?.startWaiting();
    this.#clientQueues?.startWaiting();
  }

  /** Starts the calls that outlive their requests: after the turn's answers are sent. */
  startDetached(): void {
    for (const call of this.detached.splice(0)) if (!call.hasEnded) this.run(call);
  }

  /**
   * Goes on with a new map, once so many calls have come that copying costs nothing. As a map grows
   * and shrinks V8 leaves its tables linked, each to the next one: once the first of them is old,
   * no minor collection frees the others, nor the ended calls in them; to move and to
   * mark all that took a quarter of a call's time.
   */
  #renewMap(): void {
    this.#calls = new Map(this.#calls);
    this.#added = 1;
  }

  /** Takes work that outlives its call; it begins at the end of the turn. Gives what cancels it. */
  detach(call: Call, handler: RequestHandler, work: BackgroundRun): CancelRun {
    const run = new TaskRun(call, handler, work);
    run.state = 'running';
    (this.#outliving ??= new Set()).add(run);
    this.detached.push(run);
    // No answer comes that would end a turn.
    if (work.call) this.#owner.scheduleTurnEnd();
    return (reason) => {
      if (run.hasEnded) return;
      this.#forget(run);
      if (reason) return run.abort(reason);
      // It has begun, and its promise is open: only what awaits is let go of.
      run.release();
      this.#unsettled--;
      this.#owner.scheduleTurnEnd();
    };
  }

  park(call: Call): void {
    if (this.#outliving?.has(call)) return;
    this.#queueOf(call).park(call);
    if (call.origin?.clientKey !== undefined)
      this.#clientQueues?.onCallRemoved(call.origin.clientKey);
    // A handler that has awaited something runs outside of the router's turns. A call that comes later starts
    // in its own turn.
    if (this.concurrency.waiting > 0) void turnEnd.then(() => this.#owner.scheduleTurnEnd());
  }

  resume(call: Call): void {
    if (!this.#outliving?.has(call)) this.#queueOf(call).resume(call);
  }

  #queueOf({ origin }: Call): CallQueue {
    const clientKey = origin?.clientKey;
    if (clientKey === undefined && this.#queue) return this.#queue;
    const { limits, quotas } = this.#options;
    if (clientKey === undefined) {
      return (this.#queue = new CallQueue(
        limits,
        quotas.acquire(undefined),
        this,
        this.concurrency,
      ));
    }
    this.#clientQueues ??= new FairCallQueue(limits, quotas, this, this.concurrency);
    return this.#clientQueues.queueOf(clientKey);
  }

  #forget(call: Call): void {
    if (this.#outliving?.delete(call)) return;
    this.#calls.delete(keyOf(call));
    this.#queueOf(call).remove(call);
    if (call.origin?.clientKey !== undefined)
      this.#clientQueues?.onCallRemoved(call.origin.clientKey);
  }

  #rejectOverload(call: Call): void {
    const { size, replies } = call;
    const { waiting, waitingBytes } = this.concurrency;
    const error = overloadedError(this.#options.limits, { waiting, waitingBytes, size });
    this.#options.report({ level: 'warning', name: 'request.refused', message: error.message });
    this.#calls.delete(keyOf(call));
    replies.add(call.errorResponse(error), call);
  }
}

/** The error for a request whose id is that of another one in flight. */
export function duplicateId(id: InboundRequestId): WireError {
  const message = `Invalid request: a request with the id ${inspectValue(id)} is in flight; it goes on`;
  return { code: ErrorCode.invalidRequest, message };
}

function keyOf({ id, origin }: RelatedRequest): InboundRequestId | RequestOrigin {
  return origin?.idScope === 'request' ? origin : id;
}

function ended(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
