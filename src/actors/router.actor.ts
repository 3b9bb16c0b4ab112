/**
 * Where every inbound message goes: lifecycle messages to the session, answers to the correlation actor, requests to their handlers.
 *
 * The router owns the requests in flight. What it does with a request is its current gate, switched by the session's events:
 * before the handshake everything but ping is refused, then requests are served, at the end they are refused again.
 *
 * @see MCP 2025-11-25, basic/lifecycle
 * @see MCP 2025-11-25, basic/utilities/cancellation
 */
import type { Behaviour, Port, Ref } from '../machines/port.ts';
import { plainActor } from '../machines/port.ts';
import type { RouterInput } from '../machines/session.machine.ts';
import type { RouterEvent } from '../machines/session-ports.ts';
import { classifyMessage, describe, isRequestId } from '../protocol/classify.ts';
import { RuntimeError, errorResponse, shuttingDown } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type {
  InboundBatch,
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InvalidFrame,
  JsonObject,
  OutboundFrame,
  OutboundResponse,
  RequestId,
  WireError,
} from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import { Method } from '../protocol/methods.ts';
import { BatchReplies } from './batch-replies.ts';
import { Call } from './call.ts';
import type { CallScope, Replies, RequestHandler } from './call.ts';
import { CallQueue } from './call-queue.ts';
import { HandlerRuns } from './handler-runs.ts';
import {
  batchTooLong,
  beforeInitialize,
  duplicateId,
  initializeInBatch,
  methodNotOffered,
  noBatches,
  overloaded,
} from './refusals.ts';

export interface RouterOptions {
  /** The handler of a method, or undefined where the server does not offer it. */
  readonly handlerOf: (method: string) => RequestHandler | undefined;
  /** Handlers that run at once. */
  readonly maxRunning: number;
  /** Requests that wait for a handler; more are refused. */
  readonly maxWaiting: number;
  /** Told whenever something comes from the client. */
  readonly heard?: (() => void) | undefined;
  readonly report: Report;
}

/** The router's logic. Its snapshot's `view` is the live map of calls by id. */
export function routerActor(options: RouterOptions): Port<RouterEvent, RouterInput> {
  return plainActor(({ input, self }) => new Router(options, input, self));
}

const emptyResult = Object.freeze({});

class Router implements Behaviour<RouterEvent> {
  readonly #options: RouterOptions;
  readonly #input: RouterInput;
  readonly #self: Ref<RouterEvent>;
  readonly #calls = new Map<RequestId, Call>();
  readonly #queue: CallQueue;
  readonly #direct: Replies;
  readonly #prepared = new Set<RequestHandler>();
  /** Frames of this turn; they go to the writer together. */
  #outbox: OutboundFrame[] = [];
  /** What is done with a request that runs user code. */
  #gate: (request: InboundRequest, replies: Replies) => void;
  readonly #runs: HandlerRuns;
  /** Calls that are no request in flight: they outlive theirs. */
  readonly #detached = new Set<Call>();
  /** Those of them that begin once this turn's answers are with the writer. */
  readonly #starting: Call[] = [];
  /** What is done when nothing runs any more. */
  #onIdle: () => void = () => {};
  #acceptsBatches = false;

  constructor(options: RouterOptions, input: RouterInput, self: Ref<RouterEvent>) {
    this.#options = options;
    this.#input = input;
    this.#self = self;
    this.#gate = this.#refuseBeforeInitialize;
    this.#direct = { add: (response) => this.#outbox.push(response), drop: () => {} };
    this.#runs = new HandlerRuns({
      report: options.report,
      answered: (call, response) => this.#answer(call, response),
      settled: () => this.#flush(),
    });
    this.#queue = new CallQueue(options, (call) => this.#runs.run(call));
  }

  get view(): ReadonlyMap<RequestId, Call> {
    return this.#calls;
  }

  /** Handlers may settle after the session: nobody waits for them any more. */
  stop(): void {
    this.#onIdle = () => {};
  }

  receive(event: RouterEvent): void {
    switch (event.type) {
      case 'frames.received':
        this.#options.heard?.();
        this.#route(event.frames);
        break;
      case 'gate.opened':
        this.#open(event.client);
        break;
      case 'gate.closed':
        this.#close();
        break;
      case 'lifecycle.answered':
        this.#outbox.push(event.response);
        break;
      case 'calls.abandon':
        this.#abandon();
        break;
      case 'output.blocked':
        this.#queue.hold('output');
        break;
      case 'output.flowing':
        this.#queue.release('output');
        break;
    }
    this.#flush();
  }

  #route(frames: readonly InboundFrame[]): void {
    for (let at = 0; at < frames.length; at++) {
      const frame = frames[at] as InboundFrame;
      if (!this.#isLifecycle(frame)) {
        this.#routeOne(frame);
        continue;
      }
      // The session's reaction to it is an event to this actor. The rest of the chunk goes into the mailbox behind it.
      this.#sendLifecycle(frame);
      const rest = frames.slice(at + 1);
      if (rest.length > 0) this.#self.send({ type: 'frames.received', frames: rest });
      return;
    }
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
    if (this.#calls.has(id)) return this.#direct.add(errorResponse(id, duplicateId(id)));
    this.#input.session.send({ type: 'initialize.received', id, params });
  }

  #routeOne(frame: InboundFrame): void {
    switch (frame.kind) {
      case 'request':
        return this.#request(frame, this.#direct);
      case 'response':
        return this.#input.correlation.send({ type: 'response.received', response: frame });
      case 'notification':
        return this.#notification(frame);
      case 'stray-error':
        return this.#strayError(frame.error);
      case 'invalid':
        return this.#invalid(frame, this.#direct);
      case 'batch':
        return this.#batch(frame);
    }
  }

  #request(request: InboundRequest, replies: Replies): void {
    const { id } = request;
    if (this.#calls.has(id)) replies.add(errorResponse(id, duplicateId(id)));
    else if (request.method !== Method.ping) this.#gate(request, replies);
    else replies.add({ jsonrpc: '2.0', id, result: emptyResult });
  }

  // The gates.

  readonly #refuseBeforeInitialize = ({ id, method }: InboundRequest, replies: Replies): void =>
    replies.add(errorResponse(id, beforeInitialize(method)));

  readonly #refuseAtEnd = ({ id }: InboundRequest, replies: Replies): void =>
    replies.add(errorResponse(id, shuttingDown));

  #open(client: ClientDescription): void {
    const { writer, correlation, roots } = this.#input;
    const scope: CallScope = {
      client,
      writer,
      correlation,
      roots,
      detach: (call) => this.#detach(call),
      park: (call) => this.#park(call),
      resume: (call) => this.#resume(call),
    };
    this.#acceptsBatches = client.revision.batches;
    this.#gate = (request, replies) => this.#serve(request, scope, replies);
  }

  #close(): void {
    this.#gate = this.#refuseAtEnd;
    this.#onIdle = () => this.#input.session.send({ type: 'calls.drained' });
  }

  #checkIdle(): void {
    if (this.#calls.size === 0 && this.#runs.unsettled === 0) this.#onIdle();
  }

  // Requests in flight.

  #serve(request: InboundRequest, scope: CallScope, replies: Replies): void {
    const { id, method } = request;
    const handler = this.#options.handlerOf(method);
    if (!handler) return replies.add(errorResponse(id, methodNotOffered(method)));
    this.#prepare(handler);
    const call = new Call(request, handler, scope, replies);
    this.#calls.set(id, call);
    if (!this.#queue.add(call)) this.#refuseOverload(call);
  }

  /** Before a handler's first call. Calls wait meanwhile, without counting as too many: a client that sends a thousand at once is served. */
  #prepare(handler: RequestHandler): void {
    if (!handler.prepare || this.#prepared.has(handler)) return;
    this.#prepared.add(handler);
    this.#queue.hold('preparation');
    const release = () => {
      this.#queue.release('preparation');
      this.#flush();
    };
    // What went wrong is the handler's to say, call by call.
    handler.prepare().then(release, release);
  }

  #answer(call: Call, response: OutboundResponse): void {
    // First its end: who takes the answer may want to end it, too.
    this.#end(call);
    call.replies.add(response);
  }

  #end(call: Call): void {
    this.#forget(call);
    call.end();
  }

  #forget(call: Call): void {
    if (this.#detached.delete(call)) return;
    this.#calls.delete(call.id);
    this.#queue.remove(call);
  }

  // Beside the requests in flight.

  #detach(call: Call): (reason: Error) => void {
    call.state = 'running';
    this.#detached.add(call);
    this.#starting.push(call);
    return (reason) => {
      if (call.state === 'ended') return;
      this.#forget(call);
      call.abort(reason);
    };
  }

  #park(call: Call): void {
    if (this.#detached.has(call)) return;
    this.#queue.park(call);
    // Its place is free. A handler that has awaited something is in no turn of this actor's.
    queueMicrotask(() => this.#flush());
  }

  #resume(call: Call): void {
    if (!this.#detached.has(call)) this.#queue.resume(call);
  }

  #startDetached(): void {
    for (const call of this.#starting.splice(0)) if (call.state !== 'ended') this.#runs.run(call);
  }

  #refuseOverload({ id, replies }: Call): void {
    const error = overloaded(this.#options.maxRunning, this.#options.maxWaiting);
    this.#options.report({ level: 'warning', name: 'request.refused', message: error.message });
    this.#calls.delete(id);
    replies.add(errorResponse(id, error));
  }

  #abandon(): void {
    const reason = new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
    for (const call of [...this.#calls.values(), ...this.#detached]) {
      this.#forget(call);
      call.abort(reason);
      call.replies.add(errorResponse(call.id, shuttingDown));
    }
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

  /** The client's own request first; one of ours only where it has no such request in flight. */
  #cancelled(params: JsonObject | undefined): void {
    const { requestId: id, reason } = params ?? {};
    if (!isRequestId(id)) {
      return this.#options.report({
        level: 'debug',
        name: 'cancellation.ignored',
        message: `A cancellation needs "requestId", this is ${describe(id)}`,
      });
    }
    const call = this.#calls.get(id);
    if (!call) return this.#input.correlation.send({ type: 'remote.cancelled', id, reason });
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    this.#forget(call);
    call.abort(new RuntimeError('CANCELLED', `The client cancelled the request${why}`));
    call.replies.drop();
  }

  // What is no message of its own.

  #strayError({ code, message }: WireError): void {
    this.#options.report({
      level: 'warning',
      name: 'response.unknown',
      message: `The client could not read something: error ${code}: ${message.slice(0, 500)}`,
    });
  }

  #invalid({ id, error }: InvalidFrame, replies: Replies): void {
    this.#options.report({ level: 'warning', name: 'frame.invalid', message: error.message });
    replies.add(errorResponse(id, error));
  }

  /** @see MCP 2025-03-26, basic, "Batching": the one revision that has it */
  #batch({ messages }: InboundBatch): void {
    const { maxRunning, maxWaiting } = this.#options;
    const maxMessages = maxRunning + maxWaiting;
    const error = this.#acceptsBatches ? batchTooLong(maxMessages) : noBatches;
    if (!this.#acceptsBatches || messages.length > maxMessages) {
      return this.#invalid({ kind: 'invalid', error }, this.#direct);
    }
    const frames = messages.map(classifyMessage);
    const replies = new BatchReplies((responses) => {
      this.#outbox.push(responses);
    });
    for (const frame of frames) {
      if (frame.kind === 'request' || frame.kind === 'invalid') replies.expect();
    }
    for (const frame of frames) {
      if (frame.kind === 'invalid') this.#invalid(frame, replies);
      else if (frame.kind !== 'request') this.#routeOne(frame);
      else if (frame.method !== Method.initialize) this.#request(frame, replies);
      else replies.add(errorResponse(frame.id, initializeInBatch));
    }
  }

  /** The end of a turn: calls that waited for room start, and what there is to say goes to the writer. */
  #flush(): void {
    this.#queue.startWaiting();
    if (this.#outbox.length > 0) {
      const frames = this.#outbox;
      this.#outbox = [];
      this.#input.writer.send({ type: 'frames.send', frames });
    }
    this.#startDetached();
    this.#checkIdle();
  }
}
