/**
 * Where every inbound message goes: lifecycle messages to the session, answers to the correlation
 * actor, requests to their handlers.
 *
 * The router owns the requests in flight. Its gate, which the session's events switch, decides
 * about each: before the handshake it refuses everything but ping, then it serves requests, and at
 * the end it refuses them again.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2025-11-25, basic/utilities/cancellation
 */
import type { Behaviour, Port, Recipient } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type { PeerRole, RouterEvent, RouterInput } from '../../machines/peer-ports.ts';
import { classifyMessage, inspectValue, isRequestId } from '../../protocol/classify.ts';
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

/** What the routers of both sides work with. */
export interface RouterOptions extends CallsInFlightOptions {
  /** The handlers of the methods that are offered, and under {@link anyMethod} that of all others. */
  readonly handlers: ReadonlyMap<string, RequestHandler>;
  readonly clock: Clock;
  /** Knows the ids of our requests to the peer. */
  readonly requestIds: Pick<RequestIds, 'isUsed' | 'numberOf' | 'numberOfText'>;
  /** Hears what comes in, before anything is done about it. */
  readonly traffic: Pick<Traffic, 'received'>;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
  /** Called when the peer stops reading what it is sent, and once it has read all. */
  onBackpressure?(isBlocked: boolean): void;
}

/**
 * What becomes of requests that run user code. `unopened`: they are refused, the handshake is not done.
 * `held`: they wait for its end, as notifications do.
 * `open`: they are served. `modern`: a client's are served only if they say themselves whose they are, a
 * server may ask nothing. `closed`: they are refused, some still run. `drained`: none runs, and the owner
 * has been told. `stopped`: the actor has ended.
 */
export type RouterGate =
  | { readonly state: 'unopened' | 'held' | 'modern' | 'closed' | 'drained' | 'stopped' }
  | { readonly state: 'open'; readonly caller: Caller };

/**
 * How a request is served. `ordinary`: by the handler of its method, once the gate is open. `greeting`: by the
 * owner. `settling`: as `stateless`, after the owner has heard that it settles the era. `stateless`: it says
 * itself who its client is, or has to. `sessionless`: of the legacy era, without a session. `resuming`: it goes on
 * with work of an earlier one. `forbidden`: not at all.
 */
export type RequestKind =
  | 'ordinary'
  | 'greeting'
  | 'settling'
  | 'stateless'
  | 'sessionless'
  | 'resuming'
  | 'forbidden';

/** The router, as its side knows it. */
export interface RouterContext<TInput, TOptions> {
  readonly input: TInput;
  readonly options: TOptions;
  readonly gate: RouterGate;
  /** True once the session ends. */
  readonly isClosing: boolean;
  /** The requests in flight, made for the first. */
  readonly calls: CallsInFlight;
  /** When the peer was last heard, the clock's milliseconds; -Infinity before that. */
  readonly lastHeardAt: number;
}

/**
 * What differs between the router of a server's session and that of a host's connection. One object for all
 * routers of a side.
 */
export interface RouterSide<
  TInput extends RouterInput = RouterInput,
  TOptions extends RouterOptions = RouterOptions,
> {
  /** Asked once for each request. */
  kindOf(request: InboundRequest, gate: RouterGate): RequestKind;
  /** Serves a request that is not ordinary. Its id is not in flight. */
  serve(
    request: InboundRequest,
    kind: RequestKind,
    router: RouterContext<TInput, TOptions>,
    replies: Replies,
  ): void;
  /** Why a request may not be part of a batch; undefined if it may. */
  refusalInBatch(request: InboundRequest): WireError | undefined;
  /** The error for a request that comes before the gate is open. */
  tooEarly(method: string): WireError;
  /** The error for a request at the end. */
  readonly tooLate: WireError;
  /** The error for a method without a handler. */
  notOffered(method: string): WireError;
  /**
   * A notification that is neither progress nor a cancellation.
   * @returns true if the owner answers it with events that come before the rest of its chunk
   */
  notification(notification: InboundNotification, router: RouterContext<TInput, TOptions>): boolean;
  /** The peer cancels something that is not a request of its own in flight. */
  cancelledUnknown(id: RequestId, reason: unknown, router: RouterContext<TInput, TOptions>): void;
  /** Whether invalid input that names one of our ids must be meant as an answer. */
  isMeantAsAnswer(frame: InvalidFrame): boolean;
  /** Whether the sender of invalid input is told. */
  answersInvalid(frame: InvalidFrame, gate: RouterGate): boolean;
}

/** What the router's snapshot shows as its `view`. */
export interface RouterView extends CallsView {
  readonly state: RouterGate['state'];
  /** When the peer was last heard, the clock's milliseconds; -Infinity before that. */
  readonly lastHeardAt: number;
}

/**
 * The router's logic. Its snapshot's `view` is a {@link RouterView}.
 * @param servingOf the router that serves already, before there was an actor of it
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

/** The reason of a cancellation is kept up to this length, UTF-16 units. */
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
  /** What is said at the end of this turn. */
  #frames: OutboundFrame[] = [];
  gate = unopened;
  lastHeardAt = -Infinity;
  /**
   * `due`: a handler has settled outside of a turn. The turn that this began ends when all that are
   * due have settled.
   */
  #lateTurn: 'none' | 'due' = 'none';
  /** What waits while the gate is held. */
  #held: InboundFrame[] = noFrames;
  /** Until the peer has said which it speaks, the latest. */
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

  /** From now on an actor takes its events, and others take what it sends. Calls in flight go on. */
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

  /** Made for the first request: most sessions are idle most of the time. */
  get calls(): CallsInFlight {
    return (this.#calls ??= new CallsInFlight(this.options, this));
  }

  get isClosing(): boolean {
    const { state } = this.gate;
    return state === 'closed' || state === 'drained' || state === 'stopped';
  }

  /**
   * The session is over, and hears no answers of handlers that settle from now on. If it did not drain, they
   * still run, and their signals fire.
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
        this.#gone(event.request, event.reason);
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

  /** @param from the first frame that has not been dealt with */
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
        at = this.#answers(frames, at);
        continue;
      }
      if (this.gate.state === 'held' && this.#holds(frame)) continue;
      if (!this.#route(frame)) continue;
      // What the owner makes of it is an event to this actor. The rest of the chunk goes into the mailbox
      // behind that, uncopied: a chunk may hold nothing but lifecycle messages.
      const next = at + 1;
      if (next < frames.length) this.#self.send({ type: 'frames.received', frames, from: next });
      return;
    }
  }

  /** Keeps a message for later. @returns false if it is dealt with at once */
  #holds(frame: InboundFrame): boolean {
    const isProbe = frame.kind === 'request' && frame.method === Method.ping;
    const isKept = frame.kind === 'notification' || frame.kind === 'request';
    if (!isKept || isProbe || !this.#hasRoomFor(frame)) return false;
    if (this.#held === noFrames) this.#held = [];
    this.#held.push(frame);
    return true;
  }

  #hasRoomFor(frame: InboundFrame): boolean {
    const { maxWaiting, maxWaitingBytes } = this.options.limits;
    const sizeOf = (each: InboundFrame) => (each.kind === 'request' ? (each.size ?? 0) : 0);
    const bytes = this.#held.reduce((sum, each) => sum + sizeOf(each), sizeOf(frame));
    return this.#held.length < maxWaiting && bytes <= maxWaitingBytes;
  }

  /** The gate is held no longer. */
  #release(): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = noFrames;
    this.#routeFrom(held, 0);
  }

  /** Hands on consecutive answers as one event. @returns the index of the last of them */
  #answers(frames: readonly InboundFrame[], first: number): number {
    let at = first;
    while (frames[at]?.kind === 'response') at++;
    const responses = frames.slice(first, at) as readonly InboundResponse[];
    this.input.correlation.send({ type: 'responses.received', responses });
    return at - 1;
  }

  /** @returns true if the owner has to react before the rest of the chunk */
  #route(frame: InboundFrame): boolean {
    switch (frame.kind) {
      case 'request': {
        const kind = this.#side.kindOf(frame, this.gate);
        this.#request(frame, kind, this);
        return kind === 'greeting' || kind === 'settling';
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

  /** Why an ordinary request is not served. */
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

  // Answers leave together at the end of the turn. A request with an origin is answered by itself, at once:
  // its transport has an answer of its own for each.

  add(response: OutboundFrame, request: AnsweredInput): void {
    if (request.origin) {
      this.input.writer.send({ type: 'frames.send', frames: [response], relatedTo: request });
    } else {
      this.#frames.push(response);
    }
  }

  /** The owner hears at once whether it has to wait. */
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

  // Notifications.

  /** @returns true if the owner has to react before the rest of the chunk */
  #notification(notification: InboundNotification): boolean {
    const { method, params } = notification;
    if (method === Method.cancelled) this.#cancelled(params);
    else if (method === Method.progress) {
      this.input.correlation.send({ type: 'progress.received', params });
    } else return this.#side.notification(notification, this);
    return false;
  }

  /** Means the peer's own request; one of ours only if no such request is in flight. */
  #cancelled(params: JsonObject | undefined): void {
    const { requestId: id, reason } = params ?? {};
    if (!isRequestId(id)) {
      return this.options.report({
        level: 'debug',
        name: 'cancellation.ignored',
        message: `A cancellation needs "requestId", this is ${inspectValue(id)}`,
      });
    }
    const call = this.#calls?.find({ id: id as InboundRequestId });
    if (!call) return this.#side.cancelledUnknown(id, reason, this);
    const cause = typeof reason === 'string' ? reason.slice(0, maxReasonLength) : undefined;
    const why = cause === undefined ? '' : `: ${cause.slice(0, 500)}`;
    const message = `The ${this.options.peer} cancelled the request${why}`;
    this.calls.cancel(call, new RuntimeError('CANCELLED', message, { cause }));
  }

  #gone(request: RelatedRequest, reason: string): void {
    const call = this.#calls?.find(request);
    if (call) this.calls.cancel(call, new RuntimeError('CANCELLED', reason));
  }

  // Input that is not a message by itself.

  #strayError({ code, message }: WireError): void {
    this.options.report({
      level: 'warning',
      name: 'response.unknown',
      message: `The ${this.options.peer} could not read something: error ${code}: ${message.slice(0, 500)}`,
    });
  }

  #invalid(frame: InvalidFrame, replies: Replies): void {
    const { id, error } = frame;
    const { code, message } = error;
    const outcome =
      code === ErrorCode.parseError
        ? ({ ok: false, malformed: message, isJsonRpc: false } as const)
        : ({ ok: false, tooLong: message } as const);
    if (frame.answers && this.#failed(frame.answers, outcome)) return replies.drop(frame);
    if (this.#side.isMeantAsAnswer(frame) && this.#failed([id], malformed(message))) {
      return replies.drop(frame);
    }
    this.options.report({ level: 'warning', name: 'frame.invalid', message: error.message });
    if (this.#side.answersInvalid(frame, this.gate)) replies.add(errorResponse(id, error), frame);
    else replies.drop(frame);
  }

  /** Fails those of our requests that a response cannot be read for. @returns false if there are none */
  #failed(ids: readonly unknown[], outcome: InboundResponse['outcome']): boolean {
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
      if (this.options.requestIds.isUsed) this.#failed(answeredIn(batch), malformed(error.message));
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

  /** A handler has settled outside of a turn, or a place is free. */
  scheduleTurnEnd(): void {
    if (this.#lateTurn === 'due' || this.#isSettled()) return;
    this.#lateTurn = 'due';
    void turnEnd.then(() => {
      this.#lateTurn = 'none';
      this.#endTurn();
    });
  }

  /** Whether the end of a turn would have nothing to do. */
  #isSettled(): boolean {
    if (this.gate.state === 'closed' || this.#frames.length > 0) return false;
    return (
      !this.#calls || (this.#calls.concurrency.waiting === 0 && this.#calls.detached.length === 0)
    );
  }

  /** The end of a turn: what there is to say goes to the writer, and calls that waited for room start. */
  #endTurn(): void {
    // What there is to say goes first: with it the output may be blocked, and then none of those that wait
    // must start.
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

function answeredIn({ messages }: InboundBatch): readonly unknown[] {
  return messages.flatMap((message) => {
    const frame = classifyMessage(message);
    return frame.kind === 'response' ? [frame.id] : [];
  });
}

function malformed(reason: string): InboundResponse['outcome'] {
  return { ok: false, malformed: reason, isJsonRpc: false };
}
