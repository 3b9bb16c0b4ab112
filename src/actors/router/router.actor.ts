/**
 * Routes every inbound message: lifecycle messages to the session, responses to the correlation
 * actor, requests to their handlers.
 *
 * The router owns the requests in flight. Its gate, which the session switches by events, admits
 * them: only `ping` before the handshake, everything after it, and nothing once the session is
 * closing.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2025-11-25, basic/utilities/cancellation
 */
import type { Behaviour, Port, Recipient } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type { PeerRole, RouterEvent, RouterInput } from '../../machines/peer-ports.ts';
import { classifyMessage, inspectValue, isRequestId } from '../../protocol/classify.ts';
import { describeServerFrame } from '../../protocol/codec.ts';
import { ErrorCode, RuntimeError, errorResponse } from '../../protocol/errors.ts';
import type {
  AnsweredInput,
  InboundRequestId,
  InboundBatch,
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InboundResponse,
  InvalidFrame,
  JsonObject,
  OutboundFrame,
  OutboundRequestId,
  RelatedRequest,
  RequestId,
  WireError,
} from '../../protocol/frames.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { latestHandshake, negotiateDialect } from '../../protocol/dialects/registry.ts';
import { Method } from '../../protocol/methods.ts';
import type { Clock } from '../clock.ts';
import { turnEnd } from '../clock.ts';
import { overloadedError } from './call-queue.ts';
import type { RequestIds } from '../correlation/correlation.actor.ts';
import { anyMethod } from '../request-context.ts';
import type { Caller, RequestHandler } from '../request-context.ts';
import type { Traffic } from '../traffic.ts';
import { openBatch } from './batch-replies.ts';
import { Call } from './call.ts';
import type { Replies } from './call.ts';
import { CallsInFlight, duplicateId } from './calls-in-flight.ts';
import type { CallsInFlightOptions, CallsOwner, CallsView } from './calls-in-flight.ts';

/** Options of a router on either side. */
export interface RouterOptions extends CallsInFlightOptions {
  /** Handlers by method; {@link anyMethod} is the fallback. */
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  readonly clock: Clock;
  /** The ids of our requests to the peer. */
  readonly requestIds: Pick<RequestIds, 'isUsed' | 'numberOf' | 'numberOfText'>;
  /** Observes input before it is processed. */
  readonly traffic: Pick<Traffic, 'received'>;
  /** The peer's name in messages. */
  readonly peer: PeerRole;
  /** Called when the peer stops reading its output, and once it has caught up. */
  onBackpressure?(isBlocked: boolean): void;
}

/**
 * Admission of requests that run user code. `unopened`: rejected, since the handshake is not done.
 * `held`: queued until the handshake is done, as are notifications. `open`: served. `modern`: only
 * requests with an envelope are served, and none from a server. `closed`: rejected, while some are
 * still running. `drained`: none is running, and the owner knows. `stopped`: the actor has ended.
 */
export type RouterGate =
  | { readonly state: 'unopened' | 'held' | 'modern' | 'closed' | 'drained' | 'stopped' }
  | { readonly state: 'open'; readonly caller: Caller };

/**
 * Kinds of requests. `ordinary`: served by its method's handler once the gate is open.
 * `initialize`: answered by the owner. `firstEnvelope`: like `stateless`, after the owner is
 * notified that the session is modern. `stateless`: describes its client in an envelope, or should.
 * `sessionless`: legacy, without a session. `resuming`: resumes the run of an earlier request.
 * `forbidden`: not served.
 */
export type RequestKind =
  | 'ordinary'
  | 'initialize'
  | 'firstEnvelope'
  | 'stateless'
  | 'sessionless'
  | 'resuming'
  | 'forbidden';

/** The side's view of a router. */
export interface RouterContext<TInput, TOptions> {
  readonly input: TInput;
  readonly options: TOptions;
  readonly gate: RouterGate;
  /** True once the session is closing. */
  readonly isClosing: boolean;
  /** Requests in flight; created for the first. */
  readonly calls: CallsInFlight;
  /** Time of the last input, clock ms; -Infinity before the first. */
  readonly lastHeardAt: number;
}

/**
 * Behavior that differs between a server's session and a host's connection. One object per side,
 * shared by all its routers.
 */
export interface RouterSide<
  TInput extends RouterInput = RouterInput,
  TOptions extends RouterOptions = RouterOptions,
> {
  /** Called once per request. */
  kindOf(request: InboundRequest, gate: RouterGate): RequestKind;
  /** Serves a request that is not ordinary. Its id is not in flight. */
  serve(
    request: InboundRequest,
    kind: RequestKind,
    router: RouterContext<TInput, TOptions>,
    replies: Replies,
  ): void;
  /** The error for a request that may not be part of a batch; undefined if it may. */
  refusalInBatch(request: InboundRequest): WireError | undefined;
  /** The error for a request before the gate is open. */
  tooEarly(method: string): WireError;
  /** The error for a request once the session is closing. */
  readonly tooLate: WireError;
  /** The error for a method without a handler. */
  notOffered(method: string): WireError;
  /**
   * Handles a notification that is neither progress nor a cancellation.
   * @returns true if the owner will send events to process before the rest of the chunk
   */
  notification(notification: InboundNotification, router: RouterContext<TInput, TOptions>): boolean;
  /** Handles a cancellation that names no request in flight from the peer. */
  cancelledUnknown(id: RequestId, reason: unknown, router: RouterContext<TInput, TOptions>): void;
  /** True if invalid input with one of our ids must be a response. */
  isMeantAsAnswer(frame: InvalidFrame): boolean;
  /** True if invalid input is answered with an error. */
  answersInvalid(frame: InvalidFrame, gate: RouterGate): boolean;
}

/** The `view` of the router's snapshot. */
export interface RouterView extends CallsView {
  readonly state: RouterGate['state'];
  /** Time of the last input, clock ms; -Infinity before the first. */
  readonly lastHeardAt: number;
}

/**
 * The router actor. Its snapshot's `view` is a {@link RouterView}.
 * @param servingOf returns a router that was already serving without an actor
 */
export function routerActor<TInput extends RouterInput, TOptions extends RouterOptions>(
  side: RouterSide<TInput, TOptions>,
  optionsOf: (input: NoInfer<TInput>) => NoInfer<TOptions>,
  servingOf?: (input: NoInfer<TInput>) => Router<TInput, TOptions> | undefined,
): Port<RouterEvent, TInput> {
  return plainActor(({ input, self }) => {
    const serving = servingOf?.(input);
    serving?.attach(input, self);
    return serving ?? new Router(side, optionsOf(input), input, self);
  });
}

/** Maximum length of a cancellation reason, UTF-16 units. */
const maxReasonLength = 4096;

const emptyResult = Object.freeze({});

const noFrames: InboundFrame[] = [];
const unopened: RouterGate = { state: 'unopened' };
const drained: RouterGate = { state: 'drained' };
const noCalls = { calls: [], running: 0, waiting: 0, holds: [] };

export class Router<TInput extends RouterInput, TOptions extends RouterOptions>
  implements Behaviour<RouterEvent>, RouterContext<TInput, TOptions>, CallsOwner, Replies
{
  readonly #side: RouterSide<TInput, TOptions>;
  readonly options: TOptions;
  input: TInput;
  #self: Recipient<RouterEvent>;
  #calls: CallsInFlight | undefined = undefined;
  /** Frames to send at the end of this turn. */
  #frames: OutboundFrame[] = [];
  gate = unopened;
  lastHeardAt = -Infinity;
  /** `due`: the end of a turn is scheduled, because a handler has settled outside of one. */
  #lateTurn: 'none' | 'due' = 'none';
  /** Frames queued while the gate is held. */
  #held: InboundFrame[] = noFrames;
  /** The dialect for batches; the latest one before the handshake. */
  #dialect: Dialect = latestHandshake;

  constructor(
    side: RouterSide<TInput, TOptions>,
    options: TOptions,
    input: TInput,
    self: Recipient<RouterEvent>,
  ) {
    this.#side = side;
    this.options = options;
    this.input = input;
    this.#self = self;
  }

  /** Attaches the router to an actor. Calls in flight continue. */
  attach(input: TInput, self: Recipient<RouterEvent>): void {
    this.input = input;
    this.#self = self;
  }

  get view(): RouterView {
    return {
      ...(this.#calls?.view ?? noCalls),
      state: this.gate.state,
      lastHeardAt: this.lastHeardAt,
    };
  }

  get isIdle(): boolean {
    return this.#frames.length === 0 && (this.#calls?.isIdle ?? true);
  }

  /** Created for the first request: most sessions are idle most of the time. */
  get calls(): CallsInFlight {
    return (this.#calls ??= new CallsInFlight(this.options, this));
  }

  get isClosing(): boolean {
    const { state } = this.gate;
    return state === 'closed' || state === 'drained' || state === 'stopped';
  }

  /**
   * Stops serving and discards answers of handlers that settle later. Handlers still running, in a
   * session that did not drain, are aborted.
   */
  stop(): void {
    this.gate = { state: 'stopped' };
    this.#calls?.failAll(this.#side.tooLate);
    this.#calls?.dispose();
    this.#frames = [];
  }

  receive(event: RouterEvent): void {
    switch (event.type) {
      case 'frames.received':
        this.#received(event.frames, event.from);
        break;
      case 'gate.held':
        this.gate = { state: 'held' };
        break;
      case 'gate.opened':
        this.#dialect = event.peer.dialect;
        this.gate = { state: 'open', caller: { peer: event.peer } };
        this.#release();
        break;
      case 'envelopes.require':
        this.gate = { state: 'modern' };
        break;
      case 'gate.closed':
        return this.#close();
      case 'lifecycle.answered':
        this.add(event.response, event.request);
        break;
      case 'request.gone':
        this.#clientGone(event.request, event.reason);
        break;
      case 'calls.abandon':
        this.#calls?.failAll(this.#side.tooLate);
        break;
      case 'output.blocked':
        this.calls.hold('output');
        this.options.onBackpressure?.(true);
        break;
      case 'output.flowing':
        this.#calls?.release('output');
        this.options.onBackpressure?.(false);
        break;
    }
    this.#endTurn();
  }

  /** @param from index of the first unprocessed frame */
  #received(frames: readonly InboundFrame[], from = 0): void {
    const { clock, traffic } = this.options;
    this.lastHeardAt = clock.now();
    if (from === 0) traffic.received(frames, this.lastHeardAt);
    this.#routeFrom(frames, from);
  }

  #routeFrom(frames: readonly InboundFrame[], from: number): void {
    for (let at = from; at < frames.length; at++) {
      const frame = frames[at] as InboundFrame;
      if (frame.kind === 'response') {
        at = this.#forwardResponses(frames, at);
        continue;
      }
      if (this.gate.state === 'held' && this.#holds(frame)) continue;
      if (!this.#route(frame)) continue;
      // The owner reacts with events to this actor. Queue the rest of the chunk behind them in the
      // mailbox, uncopied: a chunk may consist of lifecycle messages only.
      const next = at + 1;
      if (next < frames.length) this.#self.send({ type: 'frames.received', frames, from: next });
      return;
    }
  }

  /** Queues a message. @returns false if it is to be processed now */
  #holds(frame: InboundFrame): boolean {
    const isProbe = frame.kind === 'request' && frame.method === Method.ping;
    const isKept = frame.kind === 'notification' || frame.kind === 'request';
    if (!isKept || isProbe || !this.#fitsQueue(frame)) return false;
    if (this.#held === noFrames) this.#held = [];
    this.#held.push(frame);
    return true;
  }

  #fitsQueue(frame: InboundFrame): boolean {
    const { maxWaiting, maxWaitingBytes } = this.options.limits;
    const sizeOf = (each: InboundFrame) => (each.kind === 'request' ? (each.size ?? 0) : 0);
    const bytes = this.#held.reduce((sum, each) => sum + sizeOf(each), sizeOf(frame));
    return this.#held.length < maxWaiting && bytes <= maxWaitingBytes;
  }

  /** Processes the queued frames. */
  #release(): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = noFrames;
    this.#routeFrom(held, 0);
  }

  /** Forwards consecutive responses as one event. @returns the index of the last one */
  #forwardResponses(frames: readonly InboundFrame[], first: number): number {
    let at = first;
    while (frames[at]?.kind === 'response') at++;
    const responses = frames.slice(first, at) as readonly InboundResponse[];
    this.input.correlation.send({ type: 'responses.received', responses });
    return at - 1;
  }

  /** @returns true if the owner reacts before the rest of the chunk is processed */
  #route(frame: InboundFrame): boolean {
    switch (frame.kind) {
      case 'request': {
        const kind = this.#side.kindOf(frame, this.gate);
        this.#request(frame, kind, this);
        return kind === 'initialize' || kind === 'firstEnvelope';
      }
      case 'notification':
        return this.#notification(frame);
      case 'response':
        this.input.correlation.send({ type: 'responses.received', responses: [frame] });
        break;
      case 'stray-error':
        this.#strayError(frame.error);
        break;
      case 'invalid':
        this.#invalid(frame, this);
        break;
      case 'batch':
        this.#batch(frame);
    }
    return false;
  }

  #request(request: InboundRequest, kind: RequestKind, replies: Replies): void {
    const { id, method } = request;
    const { gate } = this;
    const isServed = kind === 'ordinary' && gate.state === 'open';
    const { handlers } = this.options;
    let handler = isServed ? handlers.get(method) : undefined;
    if (isServed && !handler && method !== Method.ping) handler = handlers.get(anyMethod);
    if (isServed && handler) {
      const { calls } = this;
      return calls.start(new Call(request, handler, calls, gate.caller, replies), this.lastHeardAt);
    }
    if (this.#calls?.find(request)) return replies.add(errorResponse(id, duplicateId(id)), request);
    if (kind !== 'ordinary') return this.#side.serve(request, kind, this, replies);
    if (method === Method.ping) {
      return replies.add({ jsonrpc: '2.0', id, result: emptyResult }, request);
    }
    replies.add(errorResponse(id, this.#refusalOf(method)), request);
  }

  /** The error for an ordinary request that is not served. */
  #refusalOf(method: string): WireError {
    switch (this.gate.state) {
      case 'unopened':
        return this.#side.tooEarly(method);
      case 'held':
        return overloadedError(this.options.limits, {
          waiting: this.#held.length,
          waitingBytes: 0,
          size: 0,
        });
      case 'open':
        return this.#side.notOffered(method);
      default:
        return this.#side.tooLate;
    }
  }

  // Answers are sent together at the end of the turn. A request with an origin is answered
  // separately and at once.

  add(response: OutboundFrame, request: AnsweredInput): void {
    if (request.origin) {
      this.input.writer.send({ type: 'frames.send', frames: [response], relatedTo: request });
    } else {
      this.#frames.push(response);
    }
  }

  /** Reports synchronously whether calls are still running. */
  #close(): void {
    this.gate = { state: 'closed' };
    this.#release();
    this.#calls?.close();
    this.#endTurn();
    if (this.gate.state === 'closed') this.input.owner.send({ type: 'calls.running' });
  }

  drop(request: AnsweredInput): void {
    if (request.origin) this.input.writer.send({ type: 'request.dropped', request });
  }

  /** @returns true if the owner reacts before the rest of the chunk is processed */
  #notification(notification: InboundNotification): boolean {
    const { method, params } = notification;
    if (method === Method.cancelled) this.#cancelled(params);
    else if (method === Method.progress) {
      this.input.correlation.send({ type: 'progress.received', params });
    } else return this.#side.notification(notification, this);
    return false;
  }

  /** Cancels a request of the peer, or one of ours if no such request is in flight. */
  #cancelled(params: JsonObject | undefined): void {
    const { requestId: id, reason } = params ?? {};
    if (!isRequestId(id)) {
      return this.options.report({
        level: 'debug',
        name: 'cancellation.ignored',
        message: `"requestId" of a cancellation must be a string or a safe integer, got ${inspectValue(id)}`,
      });
    }
    const call = this.#calls?.find({ id: id as InboundRequestId });
    if (!call) return this.#side.cancelledUnknown(id, reason, this);
    const cause = typeof reason === 'string' ? reason.slice(0, maxReasonLength) : undefined;
    const why = cause === undefined ? '' : `: ${cause.slice(0, 500)}`;
    const message = `The ${this.options.peer} cancelled the request${why}`;
    this.calls.cancel(call, new RuntimeError('CANCELLED', message, { cause }));
  }

  #clientGone(request: RelatedRequest, reason: string): void {
    const call = this.#calls?.find(request);
    if (call) this.calls.cancel(call, new RuntimeError('CANCELLED', reason));
  }

  #strayError({ code, message }: WireError): void {
    this.options.report({
      level: 'warning',
      name: 'response.unknown',
      message: `The ${this.options.peer} could not read one of our messages: error ${code}: ${message.slice(0, 500)}`,
    });
  }

  #invalid(frame: InvalidFrame, replies: Replies): void {
    const { id, error } = frame;
    const { code, message } = error;
    const outcome =
      code === ErrorCode.parseError
        ? ({ ok: false, malformed: message, isJsonRpc: false } as const)
        : ({ ok: false, tooLong: message } as const);
    if (frame.answers && this.#failRequests(frame.answers, outcome)) return replies.drop(frame);
    if (this.#side.isMeantAsAnswer(frame) && this.#failRequests([id], malformed(message))) {
      return replies.drop(frame);
    }
    const problem = this.options.peer === 'server' ? describeServerFrame(frame) : message;
    this.options.report({ level: 'warning', name: 'frame.invalid', message: problem });
    if (this.#side.answersInvalid(frame, this.gate)) replies.add(errorResponse(id, error), frame);
    else replies.drop(frame);
  }

  /** Fails our requests with unreadable responses. @returns false if the ids are not ours */
  #failRequests(ids: readonly unknown[], outcome: InboundResponse['outcome']): boolean {
    const { requestIds } = this.options;
    const responses = ids
      .filter(
        (id) => requestIds.numberOf(id) !== undefined || requestIds.numberOfText(id) !== undefined,
      )
      .map((id): InboundResponse => ({ kind: 'response', id: id as OutboundRequestId, outcome }));
    if (responses.length === 0) return false;
    this.input.correlation.send({ type: 'responses.received', responses });
    return true;
  }

  #batch(batch: InboundBatch): void {
    const { maxRunning, maxWaiting } = this.options.limits;
    const revision = batch.origin?.revision;
    const dialect = revision === undefined ? this.#dialect : negotiateDialect(revision);
    const error = dialect.batchRefusal(batch.messages.length, maxRunning + maxWaiting);
    if (error) {
      if (this.options.requestIds.isUsed)
        this.#failRequests(responseIdsIn(batch), malformed(error.message));
      return this.#invalid({ kind: 'invalid', error, origin: batch.origin }, this);
    }
    const { frames, replies } = openBatch(batch, this);
    for (const frame of frames) {
      if (frame.kind === 'invalid') this.#invalid(frame, replies);
      else if (frame.kind !== 'request') this.#route(frame);
      else {
        const refusal = this.#side.refusalInBatch(frame);
        if (refusal) replies.add(errorResponse(frame.id, refusal), frame);
        else this.#request(frame, this.#side.kindOf(frame, this.gate), replies);
      }
    }
  }

  /** Schedules the end of a turn. */
  scheduleTurnEnd(): void {
    if (this.#lateTurn === 'due' || this.#isSettled()) return;
    this.#lateTurn = 'due';
    void turnEnd.then(() => {
      this.#lateTurn = 'none';
      this.#endTurn();
    });
  }

  /** True if the end of a turn would do nothing. */
  #isSettled(): boolean {
    if (this.gate.state === 'closed' || this.#frames.length > 0) return false;
    return (
      !this.#calls || (this.#calls.concurrency.waiting === 0 && this.#calls.detached.length === 0)
    );
  }

  /** Ends a turn: sends frames, then starts queued calls. */
  #endTurn(): void {
    // Sending first, because it may block the output, and then no queued call may start.
    this.#send();
    const calls = this.#calls;
    if (calls && calls.concurrency.waiting > 0) {
      calls.startWaiting();
      this.#send();
    }
    if (calls && calls.detached.length > 0) calls.startDetached();
    if (this.gate.state === 'closed' && this.isIdle) {
      this.gate = drained;
      this.input.owner.send({ type: 'calls.drained' });
    }
  }

  #send(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.input.writer.send({ type: 'frames.send', frames });
  }
}

function responseIdsIn({ messages }: InboundBatch): readonly unknown[] {
  return messages.flatMap((message) => {
    const frame = classifyMessage(message);
    return frame.kind === 'response' ? [frame.id] : [];
  });
}

function malformed(reason: string): InboundResponse['outcome'] {
  return { ok: false, malformed: reason, isJsonRpc: false };
}
