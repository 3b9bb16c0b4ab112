/**
 * A request from the peer and the run of its handler. It is a plain record instead of an XState
 * actor: a promise and a record cost a third (docs/decisions/02-control-plane-and-data-plane.md).
 */
import type { Recipient, Ref } from '../../machines/port.ts';
import type { RootsRef } from '../../machines/session-context.ts';
import type { CorrelationEvent, DeliveryEvent, WriterEvent } from '../../machines/peer-ports.ts';
import { RuntimeError, errorResponse } from '../../protocol/errors.ts';
import type {
  AnsweredInput,
  InboundRequestId,
  JsonObject,
  OutboundResponse,
  RelatedRequest,
  WireError,
} from '../../protocol/frames.ts';
import type { RequestOrigin } from '../../protocol/request-origin.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { withMeta } from '../../protocol/meta.ts';
import { declaresRoots } from '../../protocol/roots.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import {
  AwaitedRequest,
  rejectedIfAborted,
  cancelledBeforeSend,
  sendRequests,
} from '../correlation/peer-request.ts';
import type { RequestOwner } from '../correlation/peer-request.ts';
import type { Clock } from '../clock.ts';
import { runOnce, rejected } from '../request-context.ts';
import type {
  CalledRequest,
  Caller,
  BackgroundRun,
  CancelRun,
  RequestContext,
  OnceFn,
  RequestHandler,
  OutboundRequest,
  TaskHandle,
} from '../request-context.ts';
import { turnEnd } from '../clock.ts';
import { settledRoots } from '../roots/settled-roots.ts';

/** State shared by all calls of a session. */
export interface CallScope {
  /** The server's record of the session, from the router's input. */
  readonly session?: object | undefined;
  readonly writer: Recipient<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
  /** The client's roots machine; undefined if the client declares no roots. */
  readonly roots: () => RootsRef | undefined;
  /** True if the peer is reading its output. */
  readonly isWritable: () => boolean;
  /** Calls back once the peer is reading: immediately if it already is. */
  readonly whenWritable: (callback: () => void) => void;
  /** True once the session is closing: no new request is served. */
  readonly isClosing: () => boolean;
  /**
   * Runs a handler that outlives the call. Closing the session waits for it like for any call. See
   * {@link RequestContext.detach}.
   */
  readonly detach: (call: Call, handler: RequestHandler, work: BackgroundRun) => CancelRun;
  readonly drop: (call: Call) => void;
  /** Frees the slot of a call that from now on only waits for others. */
  readonly park: (call: Call) => void;
  /** Takes a slot for a parked call again, even beyond the limit, since it continues anyway. */
  readonly resume: (call: Call) => void;
}

/** Receives the responses to requests. */
export interface Replies {
  add(response: OutboundResponse, request: AnsweredInput): void;
  /** Reports that an expected response will not come. */
  drop(request: AnsweredInput): void;
}

/** Cancellation reason of requests that are still pending when their call is answered. */
const requestEnded = 'its request has ended';

/** `left`: the run may resume in another process, and its outcome here is ignored. */
export type CallState = 'waiting' | 'running' | 'parked' | 'left' | 'ended';

export class Call implements RequestOwner, RequestContext, CalledRequest {
  readonly request: CalledRequest = this;
  readonly id: InboundRequestId;
  readonly origin: RequestOrigin | undefined;
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly handler: RequestHandler;
  readonly scope: CallScope;
  readonly peer: PeerDescription;
  readonly logLevel: Caller['logLevel'];
  readonly session: object | undefined;
  readonly replies: Replies;
  state: CallState = 'waiting';
  /** Length of the message, UTF-16 units. */
  readonly size: number;
  /** Arrival of the message's chunk, clock ms. */
  receivedAt = 0;
  context: object | undefined;
  isResendable = false;
  checkpoint: unknown = undefined;
  machine: RequestContext['machine'] = undefined;
  /** Values computed by {@link once}. */
  #made: Map<string, Promise<unknown>> | undefined;
  /** Number of pending waits for the client's roots. */
  rootsAwaited = 0;
  #atEnd: (() => void)[] | undefined;
  #atClosing: (() => void)[] | undefined;
  /** Created on first access: an AbortController costs more than the rest of a call. */
  #controller: AbortController | undefined;
  /** Unanswered requests to the peer. */
  #pendingRequests: AwaitedRequest[] | undefined;
  /** Requests to be sent together at the end of this turn. */
  #unsent: AwaitedRequest[] | undefined;
  #endedBy: unknown;

  constructor(
    request: {
      readonly id: InboundRequestId;
      readonly method: string;
      readonly params: JsonObject | undefined;
      readonly size?: number | undefined;
      readonly origin?: RequestOrigin | undefined;
    },
    handler: RequestHandler,
    scope: CallScope,
    caller: Caller,
    replies: Replies,
  ) {
    this.id = request.id;
    this.origin = request.origin;
    this.method = request.method;
    this.params = request.params;
    this.size = request.size ?? 0;
    this.handler = handler;
    this.scope = scope;
    this.peer = caller.peer;
    this.logLevel = caller.logLevel;
    this.session = scope.session;
    this.replies = replies;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#endedBy !== undefined) this.#controller.abort(this.#endedBy);
    }
    return this.#controller.signal;
  }

  /** The request on whose stream this call's messages travel. */
  get relatedTo(): RelatedRequest | undefined {
    return this;
  }

  /** The `_meta` members of all messages of this call. */
  get meta(): JsonObject | undefined {
    return undefined;
  }

  get task(): TaskHandle | undefined {
    return undefined;
  }

  /** True if the peer accepts requests. */
  get sendsRequests(): boolean {
    return true;
  }

  get hasEnded(): boolean {
    return this.state === 'ended' || this.state === 'left';
  }

  get correlation(): Ref<CorrelationEvent> {
    return this.scope.correlation;
  }

  /**
   * Sends a request. While one is pending the call holds no concurrency slot: a person may take
   * minutes to answer.
   */
  sendRequest(spec: OutboundRequest): Promise<JsonObject> {
    if (this.hasEnded) {
      return rejected(cancelledBeforeSend(spec.method, this.#endedBy ?? requestEnded));
    }
    const aborted = rejectedIfAborted(spec);
    if (aborted) return aborted;
    const noRequestsReason = this.origin?.noRequestsReason;
    if (noRequestsReason !== undefined) {
      const message = `${spec.method} was not sent: ${noRequestsReason}`;
      return rejected(new RuntimeError('CAPABILITY_MISSING', message));
    }
    const request = new AwaitedRequest(spec, this);
    request.listIndex = (this.#pendingRequests ??= []).push(request) - 1;
    if (this.#unsent) {
      this.#unsent.push(request);
    } else {
      this.#unsent = [request];
      void turnEnd.then(() => this.#sendUnsent());
    }
    if (this.state === 'running') this.scope.park(this);
    return request.result;
  }

  #sendUnsent(): void {
    const requests = this.#unsent;
    this.#unsent = undefined;
    if (requests) sendRequests(this.scope.correlation, requests);
  }

  /** Removes a settled request. */
  onSettled(request: AwaitedRequest): void {
    const last = this.#pendingRequests?.pop();
    if (this.#pendingRequests && last && last !== request) {
      // Swap-remove; cheaper than a Set, whose outgrown tables stay in memory for long.
      this.#pendingRequests[request.listIndex] = last;
      last.listIndex = request.listIndex;
    }
    if (this.state === 'parked' && this.#pendingRequests?.length === 0) this.scope.resume(this);
  }

  once<T>(key: string, make: OnceFn<T>): Promise<T> {
    const known = this.#made?.get(key);
    if (known) return known as Promise<T>;
    const made = runOnce(key, make);
    (this.#made ??= new Map<string, Promise<unknown>>()).set(key, made);
    made.catch(() => this.#made?.delete(key));
    return made;
  }

  notify(method: string, params: JsonObject, reportTo?: Recipient<DeliveryEvent>): void {
    if (this.hasEnded) return;
    // Earlier requests go first.
    this.#sendUnsent();
    const { relatedTo, meta } = this;
    this.scope.writer.send({
      type: 'frames.send',
      frames: [{ jsonrpc: '2.0', method, params: meta ? withMeta(params, meta) : params }],
      relatedTo,
      reportTo,
    });
  }

  announce(method: string, params: JsonObject): void {
    const frames = [{ jsonrpc: '2.0', method, params } as const];
    this.scope.writer.send({ type: 'frames.send', frames });
  }

  roots(wait: { readonly timeoutMs: number; readonly clock: Clock }): Promise<RootsReport> {
    const roots = this.scope.roots();
    if (roots || !declaresRoots(this.peer.capabilities)) return this.#settledRoots(roots, wait);
    // The session machine is in the middle of a step and creates the roots machine after it.
    return Promise.resolve().then(() => this.#settledRoots(this.scope.roots(), wait));
  }

  #settledRoots(
    roots: RootsRef | undefined,
    wait: { readonly timeoutMs: number; readonly clock: Clock },
  ): Promise<RootsReport> {
    const before = this.rootsAwaited;
    const report = settledRoots(roots, () => {
      this.rootsAwaited += 1;
      const { signal, origin } = this;
      return {
        ...wait,
        signal,
        relatedTo: () => this.#relatedRequest,
        noRequestsReason: origin?.noRequestsReason,
      };
    });
    if (this.rootsAwaited === before) return report;
    return report.finally(() => {
      this.rootsAwaited -= 1;
    });
  }

  /** A copy without the call itself, because a machine keeps it. */
  get #relatedRequest(): RelatedRequest | undefined {
    const { relatedTo } = this;
    if (!relatedTo || this.hasEnded) return undefined;
    return { id: relatedTo.id, origin: relatedTo.origin };
  }

  whenEnded(callback: () => void): void {
    (this.#atEnd ??= []).push(callback);
  }

  whenClosing(callback: () => void): void {
    if (this.scope.isClosing()) callback();
    else (this.#atClosing ??= []).push(callback);
  }

  /** Notifies the handler that the session is closing. */
  onSessionClosing(): void {
    if (this.#atClosing) for (const callback of this.#atClosing.splice(0)) callback();
  }

  get isWritable(): boolean {
    return this.scope.isWritable();
  }

  whenWritable(callback: () => void): void {
    this.scope.whenWritable(callback);
  }

  park(): void {
    this.scope.park(this);
  }

  drop(): void {
    if (!this.hasEnded) this.scope.drop(this);
  }

  detach(handler: RequestHandler, work: BackgroundRun): CancelRun {
    return this.scope.detach(this, handler, work);
  }

  /** An error response in the peer's dialect. */
  errorResponse(error: WireError): OutboundResponse {
    return errorResponse(this.id, this.peer.dialect.projectError(error));
  }

  /** Number of unanswered requests to the peer. */
  get openRequests(): number {
    return this.#pendingRequests?.length ?? 0;
  }

  /** Ends the call after its handler has settled, and cancels its pending requests. */
  end(): void {
    this.state = 'ended';
    this.#callBack();
    this.#cancelRequests(requestEnded);
  }

  /** Aborts the call: fires its signal and cancels its requests. */
  abort(reason: Error): void {
    this.state = 'ended';
    this.#endedBy = reason;
    this.#controller?.abort(reason);
    // Callbacks read the reason from the signal.
    this.#callBack();
    this.#cancelRequests(reason);
  }

  /** Abandons the run without a reason. See {@link CancelRun}. */
  release(): void {
    this.state = 'left';
    this.#callBack();
  }

  #callBack(): void {
    const callbacks = this.#atEnd;
    if (!callbacks) return;
    this.#atEnd = undefined;
    for (const callback of callbacks) callback();
  }

  #cancelRequests(reason: unknown): void {
    if (!this.#pendingRequests) return;
    for (const request of [...this.#pendingRequests]) request.cancel(reason);
  }
}
