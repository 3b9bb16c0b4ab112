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
import type { Behaviour, Port, Ref } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type { RootsRef } from '../../machines/session-context.ts';
import type { RouterEvent, RouterInput } from '../../machines/peer-ports.ts';
import { describe, isRequestId } from '../../protocol/classify.ts';
import { ErrorCode, RuntimeError, errorResponse } from '../../protocol/errors.ts';
import type {
  InboundRequestId,
  InboundBatch,
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InboundResponse,
  InvalidFrame,
  JsonObject,
  RelatedRequest,
  WireError,
} from '../../protocol/frames.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { latestHandshake, negotiateDialect } from '../../protocol/dialects/registry.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import { Method } from '../../protocol/methods.ts';
import { openBatch } from './batch-replies.ts';
import { Call } from './call.ts';
import type { CallScope, Replies } from './call.ts';
import { CallsInFlight } from './calls-in-flight.ts';
import type { CallsView } from './calls-in-flight.ts';
import type { Caller } from '../exchange.ts';
import { afterThis } from '../microtask.ts';
import { Outbox } from './outbox.ts';
import { duplicateId } from './refusals.ts';
import type { Gate, RouterDesk, RouterOptions, RouterSide } from './router-side.ts';
import { SharedScope } from './shared-scope.ts';

/** What the router's snapshot shows as its `view`. */
export interface RouterView extends CallsView {
  readonly state: Gate['state'];
  /** When the peer was last heard, the clock's milliseconds; -Infinity before that. */
  readonly lastHeardAt: number;
}

/** The router's logic. Its snapshot's `view` is a {@link RouterView}. */
export function routerActor<TInput extends RouterInput, TOptions extends RouterOptions>(
  side: RouterSide<TInput, TOptions>,
  optionsOf: (input: NoInfer<TInput>) => NoInfer<TOptions>,
): Port<RouterEvent, TInput> {
  return plainActor(({ input, self }) => new Router(side, optionsOf(input), input, self));
}

const emptyResult = Object.freeze({});

const unopened: Gate = { state: 'unopened' };
const drained: Gate = { state: 'drained' };
const noCalls = { calls: [], running: 0, waiting: 0, holds: [] };

class Router<TInput extends RouterInput, TOptions extends RouterOptions>
  implements Behaviour<RouterEvent>, RouterDesk<TInput, TOptions>
{
  readonly #side: RouterSide<TInput, TOptions>;
  readonly options: TOptions;
  readonly input: TInput;
  readonly #self: Ref<RouterEvent>;
  #made: CallsInFlight | undefined = undefined;
  readonly outbox: Outbox;
  gate = unopened;
  #shared: CallScope | undefined = undefined;
  /** When the peer was last heard, the clock's milliseconds. */
  #lastHeardAt = -Infinity;
  /**
   * `due`: a handler has settled outside of a turn. The turn that this began ends when all that are
   * due have settled.
   */
  #lateTurn: 'none' | 'due' = 'none';
  /** Until the peer has said which it speaks, the latest. */
  #dialect: Dialect = latestHandshake;

  constructor(
    side: RouterSide<TInput, TOptions>,
    options: TOptions,
    input: TInput,
    self: Ref<RouterEvent>,
  ) {
    this.#side = side;
    this.options = options;
    this.input = input;
    this.#self = self;
    this.outbox = new Outbox(input.writer);
  }

  get view(): RouterView {
    return {
      ...(this.#made?.view ?? noCalls),
      state: this.gate.state,
      lastHeardAt: this.#lastHeardAt,
    };
  }

  /** Made for the first request: most sessions are idle most of the time. */
  get #calls(): CallsInFlight {
    return (this.#made ??= new CallsInFlight(this.options, () => this.#late()));
  }

  /**
   * Nobody waits any more for handlers that settle after the session. If it did not drain, they
   * still run, and their signals fire.
   */
  stop(): void {
    this.gate = { state: 'stopped' };
    this.#made?.abandon(this.#side.tooLate);
    this.#made?.leave();
    this.outbox.clear();
  }

  receive(event: RouterEvent): void {
    switch (event.type) {
      case 'frames.received':
        this.#lastHeardAt = this.options.clock.now();
        this.#route(event.frames, event.from ?? 0);
        break;
      case 'gate.opened':
        this.#open(event.peer);
        break;
      case 'envelopes.require':
        this.gate = { state: 'modern' };
        break;
      case 'gate.closed':
        this.gate = { state: 'closed' };
        this.#made?.close();
        break;
      case 'lifecycle.answered':
        this.outbox.add(event.response, event.request);
        break;
      case 'request.gone':
        this.#gone(event.request, event.reason);
        break;
      case 'calls.abandon':
        this.#made?.abandon(this.#side.tooLate);
        break;
      case 'output.blocked':
        this.#calls.hold('output');
        break;
      case 'output.flowing':
        this.#made?.release('output');
        break;
    }
    this.#endTurn();
  }

  #route(frames: readonly InboundFrame[], from: number): void {
    for (let at = from; at < frames.length; at++) {
      const frame = frames[at] as InboundFrame;
      if (frame.kind === 'response') {
        at = this.#answers(frames, at);
        continue;
      }
      // What the owner makes of it is an event to this actor. The rest of the chunk goes into the
      // mailbox behind that.
      if (!this.#side.lifecycle(frame, this)) {
        this.#routeOne(frame);
        continue;
      }
      // It is not copied: a chunk may hold nothing but lifecycle messages.
      const next = at + 1;
      if (next < frames.length) this.#self.send({ type: 'frames.received', frames, from: next });
      return;
    }
  }

  /** Hands on consecutive answers as one event. @returns the index of the last of them */
  #answers(frames: readonly InboundFrame[], first: number): number {
    let at = first;
    while (frames[at]?.kind === 'response') at++;
    const responses = frames.slice(first, at) as readonly InboundResponse[];
    this.input.correlation.send({ type: 'responses.received', responses });
    return at - 1;
  }

  #routeOne(frame: InboundFrame): void {
    switch (frame.kind) {
      case 'request':
        return this.request(frame, this.outbox);
      case 'response':
        return this.input.correlation.send({ type: 'responses.received', responses: [frame] });
      case 'notification':
        return this.#notification(frame);
      case 'stray-error':
        return this.#strayError(frame.error);
      case 'invalid':
        return this.#invalid(frame, this.outbox);
      case 'batch':
        return this.#batch(frame);
    }
  }

  request(request: InboundRequest, replies: Replies): void {
    const { id, method } = request;
    const { gate } = this;
    if (this.isInFlight(request)) {
      return replies.add(errorResponse(id, duplicateId(id)), request);
    }
    const admitted = this.#side.admit(request, this, replies);
    if (admitted instanceof Call) this.#calls.start(admitted, this.#lastHeardAt);
    else if (admitted === 'unanswered') replies.drop(request);
    else if (admitted) replies.add(admitted, request);
    else if (method === Method.ping) {
      replies.add({ jsonrpc: '2.0', id, result: emptyResult }, request);
    } else if (gate.state === 'open') {
      this.#serve(request, gate.caller, replies);
    } else {
      const { tooLate } = this.#side;
      const error = gate.state === 'unopened' ? this.#side.tooEarly(method) : tooLate;
      replies.add(errorResponse(id, error), request);
    }
  }

  isInFlight(request: InboundRequest): boolean {
    return this.#made?.find(request) !== undefined;
  }

  #serve(request: InboundRequest, caller: Caller, replies: Replies): void {
    const handler = this.options.handlerOf(request.method);
    if (!handler) {
      const error = this.#side.notOffered(request.method);
      return replies.add(errorResponse(request.id, error), request);
    }
    const call = new Call(request, handler, this.scope, caller, replies);
    this.#calls.start(call, this.#lastHeardAt);
  }

  #open(peer: PeerDescription): void {
    this.#dialect = peer.dialect;
    this.gate = { state: 'open', caller: { peer } };
  }

  /** What calls are made with, once there is one. */
  get scope(): CallScope {
    return (this.#shared ??= new SharedScope({
      input: this.input,
      calls: this.#calls,
      side: this,
      gate: this,
    }));
  }

  /** A result, as this peer is to get it. */
  resultFor(peer: PeerDescription, result: JsonObject): object {
    return this.#side.resultFor(peer, result, this.options);
  }

  /** The machine of the peer's roots, if it has any. */
  roots(): RootsRef | undefined {
    return this.#side.rootsOf(this.options);
  }

  /** True once the session ends. */
  get isClosing(): boolean {
    const { state } = this.gate;
    return state === 'closed' || state === 'drained' || state === 'stopped';
  }

  // Notifications.

  #notification(notification: InboundNotification): void {
    const { method, params } = notification;
    if (method === Method.cancelled) this.#cancelled(params);
    else if (method === Method.progress) {
      this.input.correlation.send({ type: 'progress.received', params });
    } else this.#side.notification(notification, this);
  }

  /** Means the peer's own request; one of ours only if no such request is in flight. */
  #cancelled(params: JsonObject | undefined): void {
    const { requestId: id, reason } = params ?? {};
    if (!isRequestId(id)) {
      return this.options.report({
        level: 'debug',
        name: 'cancellation.ignored',
        message: `A cancellation needs "requestId", this is ${describe(id)}`,
      });
    }
    const call = this.#made?.find({ id: id as InboundRequestId });
    if (!call) return this.#side.cancelledUnknown(id, reason, this);
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The ${this.options.peer} cancelled the request${why}`;
    this.#calls.cancel(call, new RuntimeError('CANCELLED', message));
  }

  #gone(request: RelatedRequest, reason: string): void {
    const call = this.#made?.find(request);
    if (call) this.#calls.cancel(call, new RuntimeError('CANCELLED', reason));
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
    if (frame.answers !== undefined && this.options.requestIds.read(frame.answers) !== undefined) {
      const { code, message } = error;
      const outcome =
        code === ErrorCode.parseError
          ? ({ ok: false, malformed: message, isJsonRpc: false } as const)
          : ({ ok: false, tooLong: message } as const);
      const responses = [{ kind: 'response', id: frame.answers, outcome }] as const;
      this.input.correlation.send({ type: 'responses.received', responses });
      return replies.drop(frame);
    }
    const isOurs = id !== undefined && this.options.requestIds.read(id) !== undefined;
    if (isOurs && this.#side.isMeantAsAnswer(frame)) {
      const outcome = { ok: false, malformed: error.message, isJsonRpc: false } as const;
      const responses = [{ kind: 'response', id: id as never, outcome }] as const;
      this.input.correlation.send({ type: 'responses.received', responses });
      return replies.drop(frame);
    }
    this.options.report({ level: 'warning', name: 'frame.invalid', message: error.message });
    if (this.#side.answersInvalid(frame, this.gate)) replies.add(errorResponse(id, error), frame);
    else replies.drop(frame);
  }

  #batch(batch: InboundBatch): void {
    const { maxRunning, maxWaiting } = this.options.limits;
    const revision = batch.origin?.revision;
    const dialect = revision === undefined ? this.#dialect : negotiateDialect(revision);
    const error = dialect.batchRefusal(batch.messages.length, maxRunning + maxWaiting);
    if (error) {
      return this.#invalid({ kind: 'invalid', error, origin: batch.origin }, this.outbox);
    }
    const { frames, replies } = openBatch(batch, this.outbox);
    for (const frame of frames) {
      if (frame.kind === 'invalid') this.#invalid(frame, replies);
      else if (frame.kind !== 'request') this.#routeOne(frame);
      else {
        const refusal = this.#side.refusalInBatch(frame);
        if (refusal) replies.add(errorResponse(frame.id, refusal), frame);
        else this.request(frame, replies);
      }
    }
  }

  #late(): void {
    if (this.#lateTurn === 'due' || this.#isSettled()) return;
    this.#lateTurn = 'due';
    afterThis(() => {
      this.#lateTurn = 'none';
      this.#endTurn();
    });
  }

  /** Whether the end of a turn would have nothing to do. */
  #isSettled(): boolean {
    if (this.gate.state === 'closed' || !this.outbox.isEmpty) return false;
    return !this.#made?.isStarting;
  }

  /** The end of a turn: calls that waited for room start, and the outbox goes to the writer. */
  #endTurn(): void {
    // What there is to say goes first: with it the output may be blocked, and then none of those
    // that wait must start.
    this.outbox.send();
    const calls = this.#made;
    if (calls) {
      calls.startWaiting();
      this.outbox.send();
      calls.startDetached();
      calls.renewMap();
    }
    if (this.gate.state === 'closed' && (!calls || calls.isIdle)) {
      this.gate = drained;
      this.input.owner.send({ type: 'calls.drained' });
    }
  }
}
