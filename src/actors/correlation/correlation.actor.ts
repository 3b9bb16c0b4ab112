/**
 * The pending requests of ours: who asked, since when, until when, and which answer belongs to
 * whom.
 *
 * The books are kept by the numbers of the requests, whose {@link RequestIds} read back exactly
 * what they gave.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Timeouts"
 * @see MCP 2025-11-25, basic/utilities/cancellation
 */
import type { Behaviour, Port, Ref } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type {
  CorrelationEvent,
  CorrelationInput,
  PeerRequest,
  PeerRole,
  RequestFailure,
  WriterEvent,
} from '../../machines/peer-ports.ts';
import { describe } from '../../protocol/classify.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { ErrorCode, RuntimeError, errorResponse, textOfError } from '../../protocol/errors.ts';
import { BoundedMap } from '../../protocol/bounded-map.ts';
import type { ActorFactName, Fact, Report } from '../facts.ts';
import type {
  InboundResponse,
  JsonObject,
  OutboundFrame,
  RelatedRequest,
  OutboundRequestId,
} from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { Clock } from '../clock.ts';
import { describeReason } from './peer-request.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import { Pending, refuse, sessionEnded } from './pending-request.ts';
import type { PendingRequest } from './pending-request.ts';
import type { RequestIds } from './request-ids.ts';

export interface CorrelationOptions {
  readonly limits: {
    /** Requests that may be pending at once. */
    readonly maxPending: number;
  };
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** Gives the requests their ids. */
  readonly requestIds: RequestIds;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
}

/** A map that has taken fewer requests is not worth another one. */
const leastAdded = 64;

/** How requests end that have no answer. */
type Unanswered = 'timedOut' | 'cancelled';

/** How many of them are remembered, to tell a late response from a second one. */
const rememberedUnanswered = 1024;

/**
 * The correlation actor's logic. Its snapshot's `view` is the live map of {@link PendingRequest} by
 * number, in the order of asking.
 */
export function correlationActor(
  optionsOf: (input: CorrelationInput) => CorrelationOptions,
): Port<CorrelationEvent, CorrelationInput> {
  return plainActor(({ input }) => new Correlation(optionsOf(input), input.writer));
}

/**
 * New requests are held until the peer may be asked, then sent; once the session ends they are
 * refused.
 */
type Gate =
  | { readonly state: 'unopened' | 'open' }
  | { readonly state: 'closed'; readonly error: RequestFailure };

const unopened: Gate = { state: 'unopened' };
const opened: Gate = { state: 'open' };
const nonePending: ReadonlyMap<number, Pending> = new Map();

class Correlation implements Behaviour<CorrelationEvent> {
  /** Made for the first request: most sessions never ask their peer anything. */
  #made: Map<number, Pending> | undefined = undefined;
  /** How many the map has taken. */
  #added = 0;
  /**
   * The latest that ended without an answer. All others that were given an id, and are not pending,
   * were answered.
   */
  #unanswered: BoundedMap<number, Unanswered> | undefined = undefined;
  /** Hears of requests that cannot be written. */
  #rejected: ((error: unknown, frame: OutboundFrame) => void) | undefined = undefined;
  #queued: DeadlineQueue<Pending> | undefined = undefined;
  readonly #options: CorrelationOptions;
  readonly #writer: Ref<WriterEvent>;
  readonly #ids: RequestIds;
  /** Whether each request and its answer is reported. */
  readonly #isTraced: boolean;
  /** What becomes of new requests. */
  #gate: Gate = unopened;

  constructor(options: CorrelationOptions, writer: Ref<WriterEvent>) {
    this.#options = options;
    this.#ids = options.requestIds;
    this.#isTraced = (options.report.threshold ?? 'debug') === 'debug';
    this.#writer = writer;
  }

  get view(): ReadonlyMap<number, PendingRequest> {
    return this.#pending;
  }

  get #pending(): ReadonlyMap<number, Pending> {
    return this.#made ?? nonePending;
  }

  /** Made for the first request, too. */
  get #deadlines(): DeadlineQueue<Pending> {
    return (this.#queued ??= new DeadlineQueue(this.#options.clock, (pending) =>
      this.#expire(pending),
    ));
  }

  receive(event: CorrelationEvent): void {
    switch (event.type) {
      case 'requests.send':
        return this.#take(event.requests);
      case 'responses.received':
        for (const response of event.responses) this.#receive(response);
        return;
      case 'request.cancel':
        return this.#cancel(event.request, event.reason);
      case 'progress.received':
        return this.#progress(event.params);
      case 'remote.cancelled':
        return this.#remoteCancelled(event.id as OutboundRequestId, event.reason);
      case 'gate.opened':
        return this.#open();
      case 'gate.closed':
        return this.#close(event.error);
    }
  }

  stop(): void {
    this.#close(sessionEnded);
  }

  #take(requests: readonly PeerRequest[]): void {
    const gate = this.#gate;
    if (gate.state === 'closed') {
      for (const request of requests) refuse(request, gate.error);
      return;
    }
    const { limits, clock } = this.#options;
    const { maxPending } = limits;
    const now = clock.now();
    const taken: Pending[] = [];
    for (const request of requests) {
      // A ping passes: whether the peer is there must be known also when it owes many answers.
      if (this.#pending.size >= maxPending && request.method !== Method.ping) {
        const message = `${maxPending} requests to the ${this.#options.peer} are pending, no more are sent until one ends`;
        refuse(request, { code: 'LIMIT_EXCEEDED', message });
        continue;
      }
      const pending = new Pending(this.#ids, request, now);
      request.ticket = pending;
      (this.#made ??= new Map()).set(pending.number, pending);
      this.#deadlines.add(pending, Math.min(request.timeoutMs, request.maxTotalMs), now);
      taken.push(pending);
    }
    this.#added += taken.length;
    if (this.#added >= leastAdded + 4 * this.#pending.size) this.#renewMap();
    if (gate.state === 'open') this.#send(taken);
  }

  /**
   * Goes on with a new map: V8 keeps what has ended in the tables that a map has outgrown, see
   * `CallsInFlight`.
   */
  #renewMap(): void {
    this.#made = new Map(this.#made);
    this.#added = 0;
  }

  /** Sends requests in order; those that belong to the same request of the peer's in one go. */
  #send(taken: Iterable<Pending>): void {
    let frames: OutboundFrame[] = [];
    let relatedTo: RelatedRequest | undefined = undefined;
    for (const pending of taken) {
      const { request } = pending;
      pending.state = 'sent';
      if (request.relatedTo !== relatedTo) {
        this.#writeRequests(frames, relatedTo);
        frames = [];
        ({ relatedTo } = request);
      }
      try {
        frames.push(pending.frame);
        if (this.#isTraced) this.#reportSent(pending);
      } catch (error) {
        // The params are the caller's: reading them may run its code.
        this.#reject(pending, error);
      }
    }
    this.#writeRequests(frames, relatedTo);
  }

  #writeRequests(frames: OutboundFrame[], relatedTo: RelatedRequest | undefined): void {
    if (frames.length === 0) return;
    const rejected = (this.#rejected ??= (error, frame) => this.#unwritable(error, frame));
    this.#writer.send({ type: 'frames.send', frames, relatedTo, rejected });
  }

  #unwritable(error: unknown, frame: OutboundFrame): void {
    const pending = 'method' in frame && 'id' in frame ? this.#find(frame.id) : undefined;
    if (pending) this.#reject(pending, error);
  }

  #reject(pending: Pending, cause: unknown): void {
    this.#end(pending, 'cancelled');
    if (cause instanceof RuntimeError)
      return pending.fail(this.#now, cause.code, cause.message, { cause });
    const message = `The params of ${pending.method} cannot be written as JSON: ${textOfError(cause)}`;
    pending.fail(this.#now, 'UNSERIALIZABLE', message, { cause });
  }

  #receive({ id, outcome }: InboundResponse): void {
    const number = this.#ids.read(id);
    if (number === undefined) return this.#unknown(id, outcome);
    const pending = this.#pending.get(number);
    if (!pending) return this.#unexpected(id, this.#unanswered?.get(number));
    this.#forget(pending);
    if (outcome.ok) {
      if (this.#isTraced) this.#reportAnswered(pending, 'a result');
      return pending.request.settle(outcome);
    }
    if ('malformed' in outcome) {
      const message = `The ${this.#options.peer}'s response to ${pending.method} is malformed: ${outcome.malformed}`;
      this.#options.report({ level: 'warning', name: 'response.malformed', message });
      return pending.fail(this.#now, 'INVALID_RESPONSE', message);
    }
    if (this.#isTraced) this.#reportAnswered(pending, 'an error');
    const { code, message } = outcome.error;
    const text = `The ${this.#options.peer} answered ${pending.method} with error ${code}: ${message.slice(0, 500)}`;
    pending.fail(this.#now, 'REQUEST_FAILED', text, { remote: outcome.error });
  }

  /** A response to a request that has ended. */
  #unexpected(id: OutboundRequestId, ending: Unanswered | undefined): void {
    if (ending === undefined) {
      return this.#report('response.duplicate', `A second response to ${describe(id)}; dropped`);
    }
    const message = `A response to ${describe(id)} after it was ${ending === 'timedOut' ? 'given up' : 'cancelled'}; dropped`;
    this.#report('response.late', message);
  }

  #unknown(id: OutboundRequestId, outcome: InboundResponse['outcome']): void {
    this.#report('response.unknown', `A response to ${describe(id)}, which nobody sent; dropped`);
    if ('malformed' in outcome && !outcome.isJsonRpc) {
      const error = {
        code: ErrorCode.invalidRequest,
        message: `Invalid request: a response is malformed: ${outcome.malformed}`,
      };
      this.#write(errorResponse(undefined, error));
    }
  }

  #cancel(request: PeerRequest, cause: unknown): void {
    const pending = this.#find(request.ticket?.id);
    if (!pending) return;
    const reason = describeReason(cause);
    this.#abort(pending, 'cancelled', reason);
    pending.fail(this.#now, 'CANCELLED', `${pending.method} was cancelled: ${reason}`, { cause });
  }

  #expire(pending: Pending): void {
    const { id, method } = pending;
    const waitedMs = pending.elapsedMs(this.#now);
    const message = `The ${this.#options.peer} has not answered ${method} within ${waitedMs} ms`;
    this.#abort(pending, 'timedOut', message);
    this.#options.report({
      level: 'warning',
      name: 'request.timedOut',
      message,
      details: { id, method, waitedMs },
    });
    pending.fail(this.#now, 'REQUEST_TIMEOUT', message);
  }

  /** Ends a request and tells the peer, if the request has ever been sent. */
  #abort(pending: Pending, ending: Unanswered, reason: string): void {
    const { id, request } = pending;
    this.#end(pending, ending);
    if (pending.state === 'held') return;
    const { meta } = request;
    const params = { requestId: id, reason, ...(meta ? { _meta: meta } : {}) };
    this.#write({ jsonrpc: '2.0', method: Method.cancelled, params }, request.relatedTo);
  }

  #progress(params: JsonObject | undefined): void {
    const { progressToken, progress, total, message } = params ?? {};
    const pending = this.#find(progressToken as OutboundRequestId);
    if (!pending?.request.onProgress || typeof progress !== 'number') {
      // No report: an untimely flood would only become a flood of log lines, and progress after an
      // end is normal.
      return;
    }
    const { timeoutMs, maxTotalMs } = pending.request;
    const now = this.#options.clock.now();
    const leftMs = pending.sentAt + maxTotalMs - now;
    this.#deadlines.add(pending, Math.max(0, Math.min(timeoutMs, leftMs)), now);
    const report: ProgressReport = {
      progress,
      ...(typeof total === 'number' ? { total } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    };
    pending.request.onProgress(report);
  }

  #remoteCancelled(id: OutboundRequestId, reason: unknown): void {
    const pending = this.#find(id);
    if (!pending) {
      const message = `The ${this.#options.peer} cancelled ${describe(id)}, which is not in flight`;
      return this.#report('cancellation.ignored', message);
    }
    this.#end(pending, 'cancelled');
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The ${this.#options.peer} will not answer ${pending.method}${why}`;
    pending.fail(this.#now, 'REMOTE_CANCELLED', message);
  }

  #open(): void {
    this.#gate = opened;
    this.#send([...this.#pending.values()].filter(({ state }) => state === 'held'));
  }

  #close(error: RequestFailure): void {
    this.#gate = { state: 'closed', error };
    this.#queued?.clear();
    for (const pending of [...this.#pending.values()]) {
      this.#end(pending, 'cancelled');
      pending.fail(this.#now, error.code, error.message, { cause: error.cause });
    }
  }

  /** The pending request that an id belongs to. */
  #find(id: OutboundRequestId | undefined): Pending | undefined {
    const number = this.#ids.read(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** Takes a request out of the books that ends without an answer. */
  #end(pending: Pending, ending: Unanswered): void {
    this.#forget(pending);
    this.#unanswered ??= new BoundedMap(rememberedUnanswered);
    this.#unanswered.set(pending.number, ending);
  }

  #forget(pending: Pending): void {
    this.#made?.delete(pending.number);
    this.#queued?.remove(pending);
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  #reportSent({ id, method }: Pending): void {
    this.#report('request.sent', `${method} was sent`, { id, method });
  }

  #reportAnswered(pending: Pending, outcome: 'a result' | 'an error'): void {
    const { id, method } = pending;
    const elapsedMs = pending.elapsedMs(this.#now);
    const message = `${method} was answered with ${outcome} after ${elapsedMs} ms`;
    this.#report('request.answered', message, { id, method, elapsedMs });
  }

  #write(frame: OutboundFrame, relatedTo?: RelatedRequest): void {
    this.#writer.send({ type: 'frames.send', frames: [frame], relatedTo });
  }

  #report(
    name:
      | 'request.sent'
      | 'request.answered'
      | 'response.duplicate'
      | 'response.late'
      | 'response.unknown'
      | 'cancellation.ignored',
    message: string,
    details?: Fact['details'],
  ): void {
    this.#options.report({ level: 'debug', name, message, ...(details ? { details } : {}) });
  }
}
