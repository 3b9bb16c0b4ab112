/** The client's requests whose answers are due: each runs a handler, waits for its turn, or is cancelled. */
import { describe, isJsonObject } from '../protocol/classify.ts';
import {
  RuntimeError,
  errorResponse,
  internalError,
  shuttingDown,
  textOfError,
  toWireError,
} from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type { InboundRequest, RequestId, WireError } from '../protocol/frames.ts';
import { Call, isThenable } from './call.ts';
import type { CallScope, Replies, RequestHandler } from './call.ts';
import { CallQueue } from './call-queue.ts';
import type { HoldReason } from './call-queue.ts';
import { overloaded } from './refusals.ts';

export interface CallOptions {
  /** Handlers that run at once. */
  readonly maxRunning: number;
  /** Requests that wait for a handler; more are refused. */
  readonly maxWaiting: number;
  readonly report: Report;
}

export class CallsInFlight {
  readonly #options: CallOptions;
  readonly #onLate: () => void;
  readonly #calls = new Map<RequestId, Call>();
  readonly #queue: CallQueue;
  readonly #prepared = new Set<RequestHandler>();
  /** Handlers whose promise is open, those of cancelled calls included: they may still be cleaning up. */
  #unsettled = 0;

  /** @param onLate called after something has happened outside of a turn: a promise has settled */
  constructor(options: CallOptions, onLate: () => void) {
    this.#options = options;
    this.#onLate = onLate;
    this.#queue = new CallQueue(options, (call) => this.#run(call));
  }

  /** By the client's id. */
  get byId(): ReadonlyMap<RequestId, Call> {
    return this.#calls;
  }

  /** True where nothing is in flight and no handler runs any more. */
  get isIdle(): boolean {
    return this.#calls.size === 0 && this.#unsettled === 0;
  }

  /** Runs a request, or lets it wait; where too many wait it is answered with a retryable error. */
  start(
    request: InboundRequest,
    handler: RequestHandler,
    scope: CallScope,
    replies: Replies,
  ): void {
    this.#prepare(handler);
    const call = new Call(request, handler, scope, replies);
    this.#calls.set(call.id, call);
    if (!this.#queue.add(call)) this.#refuseOverload(call);
  }

  /** Ends a call without an answer. */
  cancel(call: Call, reason: RuntimeError): void {
    this.#forget(call);
    call.abort(reason);
    call.replies.drop();
  }

  /** Ends all calls, each with an error for its answer. */
  abandon(): void {
    const reason = new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
    for (const call of [...this.#calls.values()]) {
      this.#forget(call);
      call.abort(reason);
      call.replies.add(errorResponse(call.id, shuttingDown));
    }
  }

  /** Starts no call until {@link release}. */
  hold(reason: HoldReason): void {
    this.#queue.hold(reason);
  }

  release(reason: HoldReason): void {
    this.#queue.release(reason);
  }

  /** Starts what waits, as far as there is room: at the end of each turn. */
  startWaiting(): void {
    this.#queue.startWaiting();
  }

  /** Before a handler's first call. Calls wait meanwhile, without counting as too many: a client that sends a thousand at once is served. */
  #prepare(handler: RequestHandler): void {
    if (!handler.prepare || this.#prepared.has(handler)) return;
    this.#prepared.add(handler);
    this.#queue.hold('preparation');
    const release = () => {
      this.#queue.release('preparation');
      this.#onLate();
    };
    // What went wrong is the handler's to say, call by call.
    handler.prepare().then(release, release);
  }

  #run(call: Call): void {
    try {
      const result = call.handler(call.params, call);
      if (isThenable(result)) {
        // A promise of another kind becomes one of the platform's, which settles once.
        Promise.resolve(result).then(
          (late) => this.#settleLate(() => this.#succeed(call, late)),
          (error: unknown) => this.#settleLate(() => this.#fail(call, error)),
        );
        this.#unsettled++;
      } else {
        this.#succeed(call, result);
      }
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #settleLate(settle: () => void): void {
    this.#unsettled--;
    settle();
    this.#onLate();
  }

  #succeed(call: Call, result: unknown): void {
    if (call.state === 'ended') return;
    if (!isJsonObject(result)) {
      const message = `The handler of ${call.method} must give an object, it gave ${describe(result)}`;
      return this.#fail(call, new TypeError(message));
    }
    call.replies.add({ jsonrpc: '2.0', id: call.id, result });
    this.#end(call);
  }

  #fail(call: Call, error: unknown): void {
    if (call.state === 'ended') return;
    call.replies.add(errorResponse(call.id, this.#wireError(call, error)));
    this.#end(call);
  }

  #end(call: Call): void {
    this.#forget(call);
    call.end();
  }

  #forget(call: Call): void {
    this.#calls.delete(call.id);
    this.#queue.remove(call);
  }

  #wireError(call: Call, error: unknown): WireError {
    const wireError = toWireError(error);
    if (wireError) return wireError;
    this.#options.report({
      level: 'error',
      name: 'handler.failed',
      message: `The handler of ${call.method} failed: ${textOfError(error)}`,
      details: { id: call.id, error },
    });
    return internalError;
  }

  #refuseOverload({ id, replies }: Call): void {
    const error = overloaded(this.#options.maxRunning, this.#options.maxWaiting);
    this.#options.report({ level: 'warning', name: 'request.refused', message: error.message });
    this.#calls.delete(id);
    replies.add(errorResponse(id, error));
  }
}
