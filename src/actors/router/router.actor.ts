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
import type { RootsRef } from '../../machines/session.machine.ts';
import type { RouterEvent, RouterInput } from '../../machines/session-ports.ts';
import { classifyMessage, describe, isRequestId } from '../../protocol/classify.ts';
import { RuntimeError, errorResponse, shuttingDown } from '../../protocol/errors.ts';
import type {
  InboundBatch,
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InboundResponse,
  InvalidFrame,
  JsonObject,
  OutboundFrame,
  OutboundResponse,
  WireError,
} from '../../protocol/frames.ts';
import type { Dialect } from '../../protocol/dialects/dialect.ts';
import { latestDialect } from '../../protocol/dialects/registry.ts';
import { readInitialize } from '../../protocol/initialize.ts';
import type { ClientDescription } from '../../protocol/initialize.ts';
import { Method } from '../../protocol/methods.ts';
import { BatchReplies } from './batch-replies.ts';
import type { Call, CallScope, Replies } from './call.ts';
import { CallsInFlight } from './calls-in-flight.ts';
import type { CallOptions } from './calls-in-flight.ts';
import type { HoldReason } from './call-queue.ts';
import type { Clock } from '../clock.ts';
import type { RequestHandler } from '../exchange.ts';
import { afterThis } from '../microtask.ts';
import { beforeInitialize, duplicateId, initializeInBatch, methodNotOffered } from './refusals.ts';
import type { RequestIds } from '../correlation/request-ids.ts';

export interface RouterOptions extends CallOptions {
  /** The handler of a method, or undefined if the server does not offer it. */
  handlerOf(method: string): RequestHandler | undefined;
  /** The machine of the client's roots, if it has any. */
  roots(): RootsRef | undefined;
  readonly clock: Clock;
  /** Knows the ids of our requests to the client. */
  readonly requestIds: Pick<RequestIds, 'read'>;
}

/** What the router's snapshot shows as its `view`. */
export interface RouterView {
  readonly state: Gate['state'];
  /** When the client was last heard, the clock's milliseconds; -Infinity before that. */
  readonly lastHeardAt: number;
  /** The client's requests in flight by id, and those calls that outlive theirs. */
  readonly calls: Iterable<Call>;
  /** How many of them run and count as running. */
  readonly running: number;
  /** How many wait for their turn. */
  readonly waiting: number;
  /** Why no call is started at present. */
  readonly holds: Iterable<HoldReason>;
}

/** The router's logic. Its snapshot's `view` is a {@link RouterView}. */
export function routerActor(
  optionsOf: (input: RouterInput) => RouterOptions,
): Port<RouterEvent, RouterInput> {
  return plainActor(({ input, self }) => new Router(optionsOf(input), input, self));
}

const emptyResult = Object.freeze({});

/**
 * What becomes of requests that run user code: refused before the handshake, served, refused at the
 * end, which comes when nothing runs any more.
 */
type Gate =
  | { readonly state: 'unopened' | 'closed' | 'stopped' }
  | { readonly state: 'open'; readonly client: ClientDescription };

const unopened: Gate = { state: 'unopened' };
const closed: Gate = { state: 'closed' };
const stopped: Gate = { state: 'stopped' };

const noCalls = { calls: [], running: 0, waiting: 0, holds: [] };

class Router implements Behaviour<RouterEvent>, Replies {
  readonly #options: RouterOptions;
  readonly #input: RouterInput;
  readonly #self: Ref<RouterEvent>;
  #made: CallsInFlight | undefined = undefined;
  /** Frames of this turn; they go to the writer together. */
  #outbox: OutboundFrame[] = [];
  /** What becomes of a request that runs user code. */
  #gate: Gate = unopened;
  /** What calls are made with, once there is one. */
  #scope: CallScope | undefined = undefined;
  /** When the client was last heard, the clock's milliseconds. */
  #lastHeardAt = -Infinity;
  /**
   * `due`: a handler has settled outside of a turn. The turn that this began ends when all that are
   * due have settled.
   */
  #lateTurn: 'none' | 'due' = 'none';
  /** Until the client has said which it speaks, the latest. */
  #dialect: Dialect = latestDialect;

  constructor(options: RouterOptions, input: RouterInput, self: Ref<RouterEvent>) {
    this.#options = options;
    this.#input = input;
    this.#self = self;
  }

  get view(): RouterView {
    return {
      ...(this.#made?.view ?? noCalls),
      state: this.#gate.state,
      lastHeardAt: this.#lastHeardAt,
    };
  }

  /** Made for the first request: most sessions are idle most of the time. */
  get #calls(): CallsInFlight {
    return (this.#made ??= new CallsInFlight(this.#options, () => this.#late()));
  }

  /**
   * Nobody waits any more for handlers that settle after the session. If it did not drain, they
   * still run, and their signals fire.
   */
  stop(): void {
    this.#gate = stopped;
    this.#made?.abandon();
    this.#outbox = [];
  }

  // Responses to requests that came outside a batch.

  add(response: OutboundResponse): void {
    this.#outbox.push(response);
  }

  drop(): void {}

  receive(event: RouterEvent): void {
    switch (event.type) {
      case 'frames.received':
        this.#lastHeardAt = this.#options.clock.now();
        this.#route(event.frames, event.from ?? 0);
        break;
      case 'gate.opened':
        this.#open(event.client);
        break;
      case 'gate.closed':
        this.#gate = closed;
        break;
      case 'lifecycle.answered':
        this.#outbox.push(event.response);
        break;
      case 'calls.abandon':
        this.#made?.abandon();
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
      if (!this.#isLifecycle(frame)) {
        this.#routeOne(frame);
        continue;
      }
      // The session's reaction to it is an event to this actor. The rest of the chunk goes into the
      // mailbox behind it.
      this.#sendLifecycle(frame);
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
    this.#input.correlation.send({ type: 'responses.received', responses });
    return at - 1;
  }

  #isLifecycle(frame: InboundFrame): frame is InboundRequest | InboundNotification {
    return (
      (frame.kind === 'request' && frame.method === Method.initialize) ||
      (frame.kind === 'notification' && frame.method === Method.initialized)
    );
  }

  #sendLifecycle(frame: InboundRequest | InboundNotification): void {
    if (frame.kind === 'notification') return this.#notification(frame);
    const { id, params } = frame;
    if (this.#made?.byId.has(id)) return this.add(errorResponse(id, duplicateId(id)));
    const reading = readInitialize(params);
    this.#input.session.send({ type: 'initialize.received', id, reading });
  }

  #routeOne(frame: InboundFrame): void {
    switch (frame.kind) {
      case 'request':
        return this.#request(frame, this);
      case 'response':
        return this.#input.correlation.send({ type: 'responses.received', responses: [frame] });
      case 'notification':
        return this.#notification(frame);
      case 'stray-error':
        return this.#strayError(frame.error);
      case 'invalid':
        return this.#invalid(frame, this);
      case 'batch':
        return this.#batch(frame);
    }
  }

  #request(request: InboundRequest, replies: Replies): void {
    const { id } = request;
    if (this.#made?.byId.has(id)) replies.add(errorResponse(id, duplicateId(id)));
    else if (request.method !== Method.ping) this.#admit(request, replies);
    else replies.add({ jsonrpc: '2.0', id, result: emptyResult });
  }

  #admit(request: InboundRequest, replies: Replies): void {
    const gate = this.#gate;
    switch (gate.state) {
      case 'open':
        return this.#serve(request, (this.#scope ??= this.#scopeFor(gate.client)), replies);
      case 'unopened':
        return replies.add(errorResponse(request.id, beforeInitialize(request.method)));
      case 'closed':
      case 'stopped':
        return replies.add(errorResponse(request.id, shuttingDown));
    }
  }

  #open(client: ClientDescription): void {
    this.#dialect = client.dialect;
    this.#gate = { state: 'open', client };
  }

  #scopeFor(client: ClientDescription): CallScope {
    const { scope: session, writer, correlation } = this.#input;
    return {
      session,
      client,
      writer,
      correlation,
      roots: () => this.#options.roots(),
      detach: (call, handler, work) => this.#calls.detach(call, handler, work),
      park: (call) => this.#calls.park(call),
      resume: (call) => this.#calls.resume(call),
    };
  }

  #serve(request: InboundRequest, scope: CallScope, replies: Replies): void {
    const handler = this.#options.handlerOf(request.method);
    if (handler) this.#calls.start(request, handler, scope, replies, this.#lastHeardAt);
    else replies.add(errorResponse(request.id, methodNotOffered(request.method)));
  }

  // Notifications.

  #notification({ method, params }: InboundNotification): void {
    switch (method) {
      case Method.initialized:
        return this.#input.session.send({ type: 'initialized.received' });
      case Method.cancelled:
        return this.#cancelled(params);
      case Method.progress:
        return this.#input.correlation.send({ type: 'progress.received', params });
      case Method.rootsListChanged:
        return this.#input.session.send({ type: 'roots.changed' });
      default:
        this.#options.report({
          level: 'debug',
          name: 'notification.ignored',
          message: `Nobody handles the notification ${describe(method)}`,
        });
    }
  }

  /** Means the client's own request; one of ours only if no such request is in flight. */
  #cancelled(params: JsonObject | undefined): void {
    const { requestId: id, reason } = params ?? {};
    if (!isRequestId(id)) {
      return this.#options.report({
        level: 'debug',
        name: 'cancellation.ignored',
        message: `A cancellation needs "requestId", this is ${describe(id)}`,
      });
    }
    const call = this.#made?.byId.get(id);
    if (!call) return this.#input.correlation.send({ type: 'remote.cancelled', id, reason });
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The client cancelled the request${why}`;
    this.#calls.cancel(call, new RuntimeError('CANCELLED', message));
  }

  // Input that is not a message by itself.

  #strayError({ code, message }: WireError): void {
    this.#options.report({
      level: 'warning',
      name: 'response.unknown',
      message: `The client could not read something: error ${code}: ${message.slice(0, 500)}`,
    });
  }

  #invalid({ id, error }: InvalidFrame, replies: Replies): void {
    if (id !== undefined && this.#options.requestIds.read(id) !== undefined) {
      // Nobody else can know such an id: this was meant as the answer to a request of ours.
      const outcome = { ok: false, malformed: error.message, isJsonRpc: false } as const;
      const responses = [{ kind: 'response', id, outcome }] as const;
      this.#input.correlation.send({ type: 'responses.received', responses });
      return replies.drop();
    }
    this.#options.report({ level: 'warning', name: 'frame.invalid', message: error.message });
    replies.add(errorResponse(id, error));
  }

  #batch({ messages, size }: InboundBatch): void {
    const { maxRunning, maxWaiting } = this.#options.limits;
    const error = this.#dialect.batchRefusal(messages.length, maxRunning + maxWaiting);
    if (error) return this.#invalid({ kind: 'invalid', error }, this);
    const sizeOfEach = (size ?? 0) / messages.length;
    const frames = messages.map((message) => classifyMessage(message, sizeOfEach));
    const answered = frames.filter(({ kind }) => kind === 'request' || kind === 'invalid');
    const replies = new BatchReplies(answered.length, (responses) => {
      this.#outbox.push(responses);
    });
    for (const frame of frames) {
      if (frame.kind === 'invalid') this.#invalid(frame, replies);
      else if (frame.kind !== 'request') this.#routeOne(frame);
      else if (frame.method !== Method.initialize) this.#request(frame, replies);
      else replies.add(errorResponse(frame.id, initializeInBatch));
    }
  }

  #late(): void {
    if (this.#lateTurn === 'due') return;
    this.#lateTurn = 'due';
    afterThis(() => {
      this.#lateTurn = 'none';
      this.#endTurn();
    });
  }

  /** The end of a turn: calls that waited for room start, and the outbox goes to the writer. */
  #endTurn(): void {
    // What there is to say goes first: with it the output may be blocked, and then none of those
    // that wait must start.
    this.#sendOutbox();
    const calls = this.#made;
    if (calls) {
      calls.startWaiting();
      this.#sendOutbox();
      calls.startDetached();
      calls.renewMap();
    }
    if (this.#gate.state === 'closed' && (!calls || calls.isIdle)) {
      this.#input.session.send({ type: 'calls.drained' });
    }
  }

  #sendOutbox(): void {
    if (this.#outbox.length === 0) return;
    const frames = this.#outbox;
    this.#outbox = [];
    this.#input.writer.send({ type: 'frames.send', frames });
  }
}
