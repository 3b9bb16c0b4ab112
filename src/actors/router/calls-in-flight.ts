/** The peer's unanswered requests, queued or running, and background runs. */
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
  /** Memory quotas of the session's clients. */
  readonly quotas: Quotas;
  /** The server's description, for results. Undefined for a host. */
  readonly server?: ServerDescription;
  /** The client's roots machine; undefined if the client declares no roots. */
  roots?(): RootsRef | undefined;
  /**
   * Creates the service for calls that request input by ending; omitted if calls may not.
   * @param onSettled called when a suspended call has settled
   */
  createSuspendableCalls?(onSettled: () => void): SuspendableCallService;
}

/** The calls, as snapshots show them. */
export interface CallsView {
  /** Requests in flight, background runs and suspended calls. */
  readonly calls: Iterable<Call | SuspendedCall>;
  /** Number of running calls, without parked ones. */
  readonly running: number;
  /** Number of queued calls. */
  readonly waiting: number;
  /** Current reasons to start no calls. */
  readonly holds: Iterable<HoldReason>;
}

/** The calls' view of the router. */
export interface CallsOwner {
  /** Recipients of the calls' output. */
  readonly input: RouterInput;
  /** True once the session is closing: no new request is served. */
  readonly isClosing: boolean;
  /** Schedules the end of a turn, after something has settled outside of one. */
  scheduleTurnEnd(): void;
}

/** Additions below which the map is not worth renewing. */
const minAddedForRenewal = 64;

export class CallsInFlight implements CallScope, CallRunner {
  readonly #options: CallsInFlightOptions;
  readonly #owner: CallsOwner;
  readonly session: object | undefined;
  #calls = new Map<InboundRequestId | RequestOrigin, Call>();
  /** Number of additions to the map. */
  #added = 0;
  /** Number of running and queued calls, and their limits. */
  readonly concurrency: ConcurrencyLimit;
  /** The queue of a session with a single client; created for its first call. */
  #queue: CallQueue | undefined = undefined;
  /** Queues by client, for calls without a session. */
  #clientQueues: FairCallQueue | undefined = undefined;
  /** Number of unsettled handlers, including those of cancelled calls that clean up. */
  #unsettled = 0;
  /** Background runs. Created for the first. */
  #backgroundRuns: Set<Call> | undefined = undefined;
  /** Background runs to start after this turn's answers have been passed to the writer. */
  readonly detached: Call[] = [];
  #suspendableCalls: SuspendableCallService | undefined = undefined;
  readonly #atFlow: (() => void)[] = [];
  /** Suspendable handlers, by the original handler. */
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

  /** The call of a request: by id, or by origin where ids are not unique. */
  find(request: RelatedRequest): Call | undefined {
    return this.#calls.get(keyOf(request));
  }

  get view(): CallsView {
    const { running, waiting, holds } = this.concurrency;
    const suspended = this.#suspendableCalls?.waiting ?? [];
    const calls = [...this.#allCalls, ...suspended];
    return { calls, running, waiting, holds };
  }

  /** Unanswered calls and background runs. */
  get #allCalls(): readonly Call[] {
    return [...this.#calls.values(), ...(this.#backgroundRuns ?? [])];
  }

  /** True if no request is in flight and no handler is running. */
  get isIdle(): boolean {
    return (
      this.#calls.size === 0 && this.#unsettled === 0 && (this.#suspendableCalls?.isIdle ?? true)
    );
  }

  /** Wraps a handler so that its call may end to request input, and resume with a retry. */
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
   * Runs or queues a call. Answers with a retryable error if a limit is exceeded, and with an error
   * if its id is in flight.
   * @param receivedAt clock ms
   */
  start(call: Call, receivedAt: number): void {
    const key = keyOf(call);
    if (this.#calls.has(key)) {
      return call.replies.add(errorResponse(call.id, duplicateId(call.id)), call);
    }
    call.receivedAt = receivedAt;
    if (++this.#added > minAddedForRenewal + 4 * this.#calls.size) this.#renewMap();
    this.#calls.set(key, call);
    if (!this.#queueOf(call).add(call)) this.#rejectOverload(call);
  }

  /** Runs a handler and answers the request with its result or error. */
  run(call: Call): void {
    try {
      const result = call.handler(call.params, call);
      const isPromise = result instanceof Promise;
      if (!isPromise && !isThenable(result)) return this.#succeed(call, result);
      this.#unsettled++;
      // Converts foreign thenables into native promises, which settle once.
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
      const message = `The handler of ${call.method} must return an object, got ${inspectValue(result)}`;
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
    // The call ends first, because the recipient of the answer may end it too.
    this.#forget(call);
    call.end();
    call.replies.add(response, call);
  }

  /** Cancels a call without answering it. */
  cancel(call: Call, reason: RuntimeError): void {
    this.#forget(call);
    call.abort(reason);
    call.replies.drop(call);
  }

  /** Notifies calls that the session is closing. They may still finish. */
  close(): void {
    for (const call of this.#allCalls) call.onSessionClosing();
    this.#suspendableCalls?.close(ended());
  }

  /** Aborts all calls and answers each with this error. */
  failAll(error: WireError): void {
    const calls = this.#allCalls;
    // Creating an error captures a stack, and most sessions end with nothing in flight.
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

  /** Releases the queues. No call may be added afterwards. */
  dispose(): void {
    this.#queue?.close();
    this.#queue = undefined;
    this.#clientQueues?.close();
  }

  /** Starts no calls until {@link release}. */
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

  /** Starts queued calls while slots are free. */
  startWaiting(): void {
    this.#queue?.startWaiting();
    this.#clientQueues?.startWaiting();
  }

  /** Starts background runs, after the turn's answers are sent. */
  startDetached(): void {
    for (const call of this.detached.splice(0)) if (!call.hasEnded) this.run(call);
  }

  /**
   * Replaces the map after so many additions that copying is negligible. As a map grows and
   * shrinks, V8 keeps its old tables linked: once the first table is in the old generation, no
   * minor collection frees the others or the ended calls in them. Moving and marking them took a
   * quarter of a call's time.
   */
  #renewMap(): void {
    this.#calls = new Map(this.#calls);
    this.#added = 1;
  }

  /** Adds a background run, to start at the end of the turn. Returns its cancel function. */
  detach(call: Call, handler: RequestHandler, work: BackgroundRun): CancelRun {
    const run = new TaskRun(call, handler, work);
    run.state = 'running';
    (this.#backgroundRuns ??= new Set()).add(run);
    this.detached.push(run);
    // A durable call sends no answer that would end the turn.
    if (work.call) this.#owner.scheduleTurnEnd();
    return (reason) => {
      if (run.hasEnded) return;
      this.#forget(run);
      if (reason) return run.abort(reason);
      // The handler is running and cannot be stopped; its outcome is ignored.
      run.release();
      this.#unsettled--;
      this.#owner.scheduleTurnEnd();
    };
  }

  park(call: Call): void {
    if (this.#backgroundRuns?.has(call)) return;
    this.#queueOf(call).park(call);
    if (call.origin?.clientKey !== undefined)
      this.#clientQueues?.onCallRemoved(call.origin.clientKey);
    // A handler that has awaited something runs outside of the router's turns, so schedule one to
    // start the next call.
    if (this.concurrency.waiting > 0) void turnEnd.then(() => this.#owner.scheduleTurnEnd());
  }

  resume(call: Call): void {
    if (!this.#backgroundRuns?.has(call)) this.#queueOf(call).resume(call);
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
    if (this.#backgroundRuns?.delete(call)) return;
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

/** The error for a request with an id that is already in flight. */
export function duplicateId(id: InboundRequestId): WireError {
  const message = `Invalid request: a request with the id ${inspectValue(id)} is already in flight and continues; use another id`;
  return { code: ErrorCode.invalidRequest, message };
}

function keyOf({ id, origin }: RelatedRequest): InboundRequestId | RequestOrigin {
  return origin?.idScope === 'request' ? origin : id;
}

function ended(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
