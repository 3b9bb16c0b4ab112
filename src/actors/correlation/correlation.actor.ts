/**
 * Our pending requests: who asked, since when, until when, and which answer belongs to
 * whom.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Timeouts"
 * @see MCP 2025-11-25, basic/utilities/cancellation
 */
import type { Behaviour, Port, Ref } from '../../machines/port.ts';
import { plainActor } from '../../machines/port.ts';
import type {
  CorrelationEvent,
  CorrelationInput,
  DeliveryEvent,
  PeerRequest,
  PeerRole,
  WriterEvent,
} from '../../machines/peer-ports.ts';
import type { RequestFailure } from '../../protocol/errors.ts';
import { inspectValue } from '../../protocol/classify.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { ErrorCode, RuntimeError, errorResponse, textOfError } from '../../protocol/errors.ts';
import type { Fact } from '../facts.ts';
import type {
  InboundResponse,
  JsonObject,
  OutboundFrame,
  RelatedRequest,
  OutboundRequestId,
} from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import { describeReason } from './peer-request.ts';
import { PendingRequests, progressReportOf, refuse, sessionEnded } from './pending-requests.ts';
import type {
  Pending,
  PendingRequest,
  PendingRequestsOptions,
  Unanswered,
} from './pending-requests.ts';

/**
 * New requests are held until the peer may be asked, then sent; at the end they are refused. A host
 * is `away` while it has no channel, and `greeting` until the handshake over one is done.
 */
type Gate =
  | { readonly state: 'unopened' | 'away' | 'greeting' | 'open' }
  | { readonly state: 'closed'; readonly error: RequestFailure };

const unopened: Gate = { state: 'unopened' };
const away: Gate = { state: 'away' };
const greeting: Gate = { state: 'greeting' };
const opened: Gate = { state: 'open' };

export interface RequestBounds {
  /** Requests that may be pending at once. */
  readonly maxPending: number;
  /** Of them, those that may wait for the gate to be opened. They have no bound of their own if it is missing. */
  readonly maxWaitingAway?: number;
}

export interface CorrelationOptions extends PendingRequestsOptions {
  readonly limits: RequestBounds;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
  /**
   * What becomes of a response that cannot be read and belongs to no request. `answered`, the
   * default: the peer gets an error.
   */
  readonly malformed?: 'answered' | 'reported';
  /** Hears progress of requests that are answered: a task's goes on. */
  readonly lateProgress?: (token: OutboundRequestId, report: ProgressReport) => void;
}

/**
 * The correlation actor's logic. Its snapshot's `view` is the live map of {@link PendingRequest} by
 * number, in the order of asking.
 */
export function correlationActor(
  optionsOf: (input: CorrelationInput) => CorrelationOptions,
): Port<CorrelationEvent, CorrelationInput> {
  return plainActor(({ input, self }) => new Correlation(optionsOf(input), self, input.writer));
}

const nonePending: ReadonlyMap<number, Pending> = new Map();

function isHandshake({ request }: Pending): boolean {
  return request.isHandshake === true;
}

/**
 * A list with this at its end. Most have one member for good: an empty list that grows has room for
 * seventeen.
 */
function withOneMore<T>(list: T[] | undefined, item: T): T[] {
  if (!list) return [item];
  list.push(item);
  return list;
}

class Correlation implements Behaviour<CorrelationEvent> {
  /** Made for the first request: most sessions never ask their peer anything. */
  #made: PendingRequests | undefined = undefined;
  readonly #options: CorrelationOptions;
  readonly #self: Ref<DeliveryEvent>;
  /** Undefined while there is no channel. */
  #writer: Ref<WriterEvent> | undefined;
  /** Whether each request and its answer is reported. */
  readonly #isTraced: boolean;
  /** What becomes of new requests. */
  #gate: Gate;

  constructor(
    options: CorrelationOptions,
    self: Ref<DeliveryEvent>,
    writer: Ref<WriterEvent> | undefined,
  ) {
    this.#options = options;
    this.#self = self;
    this.#isTraced = (options.report.threshold ?? 'debug') === 'debug';
    this.#writer = writer;
    this.#gate = writer ? unopened : away;
  }

  get view(): ReadonlyMap<number, PendingRequest> {
    return this.#made?.byNumber ?? nonePending;
  }

  get #books(): PendingRequests {
    return (this.#made ??= new PendingRequests(this.#options, (pending) => this.#expire(pending)));
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
      case 'frame.rejected':
        return this.#rejected(event.frame, event.error, event.receipt);
      case 'frame.returned':
        return this.#returned(event.frame, event.error);
      case 'frame.paused':
        return this.#pendingOf(event.frame)?.request.onPaused?.();
      case 'frames.delivered':
        return this.#delivered(event.receipt);
      case 'channel.opened':
        return this.#greet(event.writer);
      case 'gate.opened':
        return this.#open();
      case 'gate.held':
        return this.#hold();
      case 'channel.lost':
        if (event.peer === 'told') this.#withdrawAll(event.error.message);
        return this.#lose(event.error);
      case 'gate.closed':
        if (event.peer === 'told') this.#withdrawAll(event.error.message);
        return this.#close(event.error);
    }
  }

  stop(): void {
    this.#close(sessionEnded);
  }

  #take(requests: readonly PeerRequest[]): void {
    const now = this.#now;
    let taken: Pending[] | undefined = undefined;
    for (const request of requests) {
      const refusal = refusalOf(request, this.#gate, this.#books, this.#options);
      if (refusal) {
        refuse(request, refusal);
        continue;
      }
      taken = withOneMore(taken, this.#books.add(request, now));
    }
    this.#books.renewMap();
    if (!taken) return;
    if (this.#gate.state === 'open') this.#send(taken);
    else if (this.#writer) this.#send(taken.filter(isHandshake));
  }

  /** Sends requests in order; those that belong to the same request from the peer in one go. */
  #send(taken: readonly Pending[]): void {
    let frames: OutboundFrame[] | undefined = undefined;
    let relatedTo: RelatedRequest | undefined = undefined;
    for (const pending of taken) {
      const { request } = pending;
      pending.state = 'sent';
      if (request.relatedTo !== relatedTo || request.awaits === 'delivery') {
        this.#writeRequests(frames, relatedTo);
        frames = undefined;
        ({ relatedTo } = request);
      }
      try {
        if (request.awaits === 'delivery') this.#deliver(pending);
        else frames = withOneMore(frames, pending.frame);
        if (this.#isTraced) this.#reportSent(pending);
      } catch (error) {
        // The params are the caller's: reading them may run its code.
        this.#reject(pending, error);
      }
    }
    this.#writeRequests(frames, relatedTo);
  }

  #writeRequests(frames: OutboundFrame[] | undefined, relatedTo: RelatedRequest | undefined): void {
    if (!frames) return;
    this.#writer?.send({ type: 'frames.send', frames, relatedTo, reportTo: this.#self });
  }

  /** Sends a notification, which is settled once the transport has taken it. */
  #deliver(pending: Pending): void {
    this.#writer?.send({
      type: 'frames.send',
      frames: [pending.frame],
      relatedTo: pending.request.relatedTo,
      reportTo: this.#self,
      receipt: pending.number,
    });
  }

  #delivered(receipt: number): void {
    const pending = this.#books.byNumber.get(receipt);
    if (!pending) return;
    this.#books.forget(pending);
    pending.request.settle({ ok: true, result: {} });
  }

  #pendingOf(frame: OutboundFrame): Pending | undefined {
    return 'method' in frame && 'id' in frame ? this.#books.find(frame.id) : undefined;
  }

  #rejected(frame: OutboundFrame, error: unknown, receipt: number | undefined): void {
    const pending =
      receipt === undefined ? this.#pendingOf(frame) : this.#books.byNumber.get(receipt);
    if (pending) this.#reject(pending, error);
  }

  /** Holds a request until the next handshake. Rejects one of the handshake, or returned before. */
  #returned(frame: OutboundFrame, error: unknown): void {
    const pending = this.#pendingOf(frame);
    if (pending && !this.#books.returns(pending, frame)) this.#reject(pending, error);
  }

  #reject(pending: Pending, cause: unknown): void {
    this.#books.end(pending, 'cancelled');
    if (cause instanceof RuntimeError) return pending.failWith(this.#now, cause, cause);
    const message = `The params of ${pending.method} cannot be written as JSON: ${textOfError(cause)}`;
    pending.fail(this.#now, 'UNSERIALIZABLE', message, { cause });
  }

  #receive(response: InboundResponse): void {
    const { id, outcome } = response;
    const pending = this.#books.answered(id);
    if (!pending) return this.#unexpected(response);
    if (outcome.ok) {
      if (this.#isTraced) this.#reportAnswered(pending, 'a result');
      return pending.request.settle(outcome);
    }
    if ('malformed' in outcome) {
      return this.#malformed(pending, outcome.malformed);
    }
    if ('tooLong' in outcome) {
      const message = `The ${this.#options.peer}'s response to ${pending.method} cannot be read: ${outcome.tooLong}`;
      this.#options.report({ level: 'warning', name: 'response.malformed', message });
      return pending.fail(this.#now, 'LIMIT_EXCEEDED', message);
    }
    if (this.#isTraced) this.#reportAnswered(pending, 'an error');
    const { code, message } = outcome.error;
    const text = `The ${this.#options.peer} answered ${pending.method} with error ${code}: ${message.slice(0, 500)}`;
    pending.fail(this.#now, 'REQUEST_FAILED', text, { remote: outcome.error });
  }

  #malformed(pending: Pending, reason: string): void {
    const message = `The ${this.#options.peer}'s response to ${pending.method} is malformed: ${reason}`;
    this.#options.report({ level: 'warning', name: 'response.malformed', message });
    pending.fail(this.#now, 'INVALID_RESPONSE', message);
  }

  #unexpected(response: InboundResponse): void {
    const { id, outcome } = response;
    const meant = this.#made?.findByText(id);
    if (meant) {
      this.#made?.forget(meant);
      return this.#malformed(
        meant,
        `its "id" must be ${meant.number}, got the string ${inspectValue(id)}`,
      );
    }
    this.#books.unexpected(response);
    const isOurs = this.#books.numberOf(id) !== undefined;
    if (isOurs || this.#options.malformed === 'reported') return;
    if ('malformed' in outcome && !outcome.isJsonRpc) {
      const error = {
        code: ErrorCode.invalidRequest,
        message: `Invalid request: a response is malformed: ${outcome.malformed}`,
      };
      this.#write(errorResponse(undefined, error));
    }
  }

  #cancel(request: PeerRequest, cause: unknown): void {
    const pending = this.#books.find(request.ticket?.id);
    if (!pending) return;
    const reason = describeReason(cause);
    this.#abort(pending, 'cancelled', reason);
    pending.fail(this.#now, 'CANCELLED', `${pending.method} was cancelled: ${reason}`, { cause });
  }

  #expire(pending: Pending): void {
    const { id, method } = pending;
    const waitedMs = pending.elapsedMs(this.#now);
    const message = `${missedBy(pending, this.#gate, this.#options.peer)} within ${waitedMs} ms`;
    this.#abort(pending, 'timedOut', message);
    this.#options.report({
      level: 'warning',
      name: 'request.timedOut',
      message,
      details: { id, method, waitedMs },
    });
    pending.fail(this.#now, 'REQUEST_TIMEOUT', message);
  }

  /** Ends a request and tells the peer, if the request has ever been sent and may be cancelled. */
  #abort(pending: Pending, ending: Unanswered, reason: string): void {
    this.#books.end(pending, ending);
    this.#withdraw(pending, reason);
  }

  #withdrawAll(reason: string): void {
    for (const pending of this.#made?.all ?? []) this.#withdraw(pending, reason);
  }

  #withdraw({ id, request, state }: Pending, reason: string): void {
    if (state === 'held' || request.isHandshake || request.awaits === 'delivery') return;
    const { meta } = request;
    const params = { requestId: id, reason, ...(meta ? { _meta: meta } : {}) };
    this.#write({ jsonrpc: '2.0', method: Method.cancelled, params }, request.relatedTo);
  }

  #progress(params: JsonObject | undefined): void {
    const { progressToken, progress } = params ?? {};
    const isOurs = this.#books.numberOf(progressToken as OutboundRequestId) !== undefined;
    if (!isOurs || typeof progress !== 'number') {
      const message = isOurs
        ? `Progress must be a number, this is ${inspectValue(progress)}; dropped`
        : `Progress for the token ${inspectValue(progressToken)}, which nobody gave; dropped`;
      return this.#options.report({ level: 'debug', name: 'progress.unknown', message });
    }
    const pending = this.#books.find(progressToken as OutboundRequestId);
    const { lateProgress } = this.#options;
    // Progress after an end is normal.
    if (!pending)
      return lateProgress?.(progressToken as OutboundRequestId, progressReportOf(progress, params));
    if (!pending.request.onProgress) return;
    const { timeoutMs, maxTotalMs } = pending.request;
    const now = this.#options.clock.now();
    const leftMs = pending.sentAt + maxTotalMs - now;
    this.#books.extend(pending, Math.max(0, Math.min(timeoutMs, leftMs)), now);
    pending.request.onProgress(progressReportOf(progress, params));
  }

  #remoteCancelled(id: OutboundRequestId, reason: unknown): void {
    const pending = this.#books.find(id);
    if (!pending) {
      const message = `The ${this.#options.peer} cancelled ${inspectValue(id)}, which is not in flight`;
      return this.#report('cancellation.ignored', message);
    }
    this.#books.end(pending, 'cancelled');
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The ${this.#options.peer} will not answer ${pending.method}${why}`;
    pending.fail(this.#now, 'REMOTE_CANCELLED', message);
  }

  #open(): void {
    // Without a channel there is nothing that it could be sent over.
    if (!this.#writer) return;
    this.#gate = opened;
    if (this.#made) this.#send(this.#made.waiting);
  }

  #greet(writer: Ref<WriterEvent>): void {
    this.#writer = writer;
    this.#gate = greeting;
    if (this.#made) this.#send(this.#made.waiting.filter(isHandshake));
  }

  #hold(): void {
    if (this.#gate.state === 'open') this.#gate = greeting;
  }

  #lose(error: RequestFailure): void {
    this.#writer = undefined;
    this.#gate = away;
    for (const pending of this.#made?.all ?? []) {
      if (pending.state === 'sent') this.#fail(pending, error);
    }
  }

  #close(error: RequestFailure): void {
    this.#gate = { state: 'closed', error };
    if (!this.#made) return;
    for (const pending of this.#made.all) this.#fail(pending, error);
    this.#made.stop();
  }

  #fail(pending: Pending, error: RequestFailure): void {
    this.#books.end(pending, 'cancelled');
    pending.failWith(this.#now, error);
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
    this.#writer?.send({ type: 'frames.send', frames: [frame], relatedTo });
  }

  #report(
    name: 'request.sent' | 'request.answered' | 'cancellation.ignored',
    message: string,
    details?: Fact['details'],
  ): void {
    this.#options.report({ level: 'debug', name, message, ...(details ? { details } : {}) });
  }
}

/** Why a request is not taken; undefined if it is. */
function refusalOf(
  request: PeerRequest,
  gate: Gate,
  books: PendingRequests,
  { limits, peer }: { readonly limits: RequestBounds; readonly peer: PeerRole },
): RequestFailure | undefined {
  if (gate.state === 'closed') return gate.error;
  const { method, isHandshake } = request;
  const { maxPending, maxWaitingAway = Infinity } = limits;
  // A ping passes: whether the peer is there must be known also when it owes many answers.
  if (books.byNumber.size >= maxPending && method !== Method.ping) {
    const message = `${maxPending} requests to the ${peer} are pending, no more are sent until one ends`;
    return { code: 'LIMIT_EXCEEDED', message };
  }
  if (gate.state === 'open' || isHandshake) return undefined;
  if (request.whenAway === 'refuse') {
    return { code: 'NOT_READY', message: `${method} was not sent: the ${peer} is not connected` };
  }
  if (maxWaitingAway === Infinity || books.waiting.length < maxWaitingAway) return undefined;
  const message = `${method} was not sent: ${maxWaitingAway} requests wait already until the ${peer} is connected`;
  return { code: 'LIMIT_EXCEEDED', message };
}

/** What a request's time has passed without. */
function missedBy({ method, state, request }: Pending, gate: Gate, peer: PeerRole): string {
  if (state === 'held' && gate.state !== 'unopened') {
    return `${method} was not sent: the ${peer} was not connected`;
  }
  return request.awaits === 'delivery'
    ? `The ${peer} has not taken ${method}`
    : `The ${peer} has not answered ${method}`;
}
