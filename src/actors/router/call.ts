/**
 * A request from the peer whose handler runs: a record that the router keeps, with its own cancellation. It is
 * not an XState actor, because a promise and a record cost a third of one
 * (docs/maintaining/decisions/02-control-plane-and-data-plane.md).
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

/** What all calls of a session share. */
export interface CallScope {
  /** What the server keeps of the session, as the router's input has it. */
  readonly session?: object | undefined;
  readonly writer: Recipient<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
  /** The machine of the client's roots; undefined for a client that declares none. */
  readonly roots: () => RootsRef | undefined;
  /** Whether the peer reads what it is sent. */
  readonly isWritable: () => boolean;
  /** Calls back once it does: at once if it does. */
  readonly whenWritable: (callback: () => void) => void;
  /** True once the session ends: no new request is served. */
  readonly isClosing: () => boolean;
  /**
   * Runs work that outlives the call. The end of the session waits for it as for any other. See
   * {@link RequestContext.detach}.
   */
  readonly detach: (call: Call, handler: RequestHandler, work: BackgroundRun) => CancelRun;
  /** Ends a call without an answer. */
  readonly drop: (call: Call) => void;
  /**
   * Frees the place of a call that from now on only waits for others: it takes none of those that
   * may run at once.
   */
  readonly park: (call: Call) => void;
  /**
   * Takes a place again for a call that has what it waited for: at once, even if it is one too many,
   * because it runs on anyhow.
   */
  readonly resume: (call: Call) => void;
}

/** Takes the responses to requests. */
export interface Replies {
  add(response: OutboundResponse, request: AnsweredInput): void;
  /** One of the expected responses will not come. */
  drop(request: AnsweredInput): void;
}

/** Why a request to the peer is cancelled whose call was answered without it. */
const requestEnded = 'its request has ended';

/** `left`: it may go on elsewhere, and what its handler still does here concerns nobody. */
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
  /** How long its message was, in UTF-16 units. */
  readonly size: number;
  /** When its chunk of input came, the clock's milliseconds. */
  receivedAt = 0;
  context: object | undefined;
  isResendable = false;
  checkpoint: unknown = undefined;
  machine: RequestContext['machine'] = undefined;
  /** What {@link once} has made. */
  #made: Map<string, Promise<unknown>> | undefined;
  /** How many of its handler's questions for the roots wait until these are known. */
  rootsAwaited = 0;
  #atEnd: (() => void)[] | undefined;
  #atClosing: (() => void)[] | undefined;
  /** Made when first read: an AbortController costs more than the rest of a call. */
  #controller: AbortController | undefined;
  /** What it asks the peer and has no answer to yet. */
  #pendingRequests: AwaitedRequest[] | undefined;
  /** Those of them that go to the peer at the end of this turn, together. */
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

  /** The peer's request to whose stream belongs what is sent on this call's behalf. */
  get relatedTo(): RelatedRequest | undefined {
    return this;
  }

  /** What everything that is sent on this call's behalf carries in its `_meta`. */
  get meta(): JsonObject | undefined {
    return undefined;
  }

  get task(): TaskHandle | undefined {
    return undefined;
  }

  /** Whether its peer may be sent requests. */
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
   * While it has questions open it takes no place of those that may run at once: a person may take
   * minutes to answer, and others need not wait for that.
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

  /** One of its requests has an outcome. */
  onSettled(request: AwaitedRequest): void {
    const last = this.#pendingRequests?.pop();
    if (this.#pendingRequests && last && last !== request) {
      // The last one takes its place: cheaper than a set, whose outgrown tables the garbage
      // collector keeps for long.
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
    // What it has asked before goes first.
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
    // The session is amid a step, and makes their machine after it.
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
        relatedTo: () => this.#asker,
        noRequestsReason: origin?.noRequestsReason,
      };
    });
    if (this.rootsAwaited === before) return report;
    return report.finally(() => {
      this.rootsAwaited -= 1;
    });
  }

  /** As a value without the call, because a machine keeps it. */
  get #asker(): RelatedRequest | undefined {
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

  /** The session begins to end. */
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

  /** The response with an error of the runtime's own. */
  errorResponse(error: WireError): OutboundResponse {
    return errorResponse(this.id, this.peer.dialect.projectError(error));
  }

  /** How many requests of its own to the peer have no answer yet. */
  get openRequests(): number {
    return this.#pendingRequests?.length ?? 0;
  }

  /** The handler has ended: what it asked and did not wait for is cancelled. */
  end(): void {
    this.state = 'ended';
    this.#callBack();
    this.#cancelRequests(requestEnded);
  }

  /** Ends the call from outside: its signal fires, what it asked is cancelled. */
  abort(reason: Error): void {
    this.state = 'ended';
    this.#endedBy = reason;
    this.#controller?.abort(reason);
    // They look at the signal for the reason.
    this.#callBack();
    this.#cancelRequests(reason);
  }

  /** It is let go of: see {@link CancelRun}. */
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
