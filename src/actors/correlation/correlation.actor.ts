/**
 * Correlates our requests to the peer with its responses, and enforces their deadlines.
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
import { BoundedMap } from '../../protocol/bounded-map.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { omit } from '../../protocol/dialects/members.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { ErrorCode, RuntimeError, errorResponse, textOfError } from '../../protocol/errors.ts';
import type { RequestFailure, RuntimeErrorCode } from '../../protocol/errors.ts';
import type {
  InboundResponse,
  JsonObject,
  OutboundFrame,
  OutboundNotification,
  OutboundRequest,
  OutboundRequestId,
  RelatedRequest,
  WireError,
} from '../../protocol/frames.ts';
import { withMeta } from '../../protocol/meta.ts';
import { Method } from '../../protocol/methods.ts';
import type { Clock } from '../clock.ts';
import type { ActorFactName, Fact, Report } from '../facts.ts';
import { DeadlineQueue, Expiring } from './deadline-queue.ts';
import { describeReason } from './peer-request.ts';

/**
 * State of the gate for new requests: held until the peer accepts requests, then sent, and refused
 * at the end. A host is `away` without a channel, and `initializing` until the handshake over a new
 * one is done.
 */
type Gate =
  | { readonly state: 'unopened' | 'away' | 'greeting' | 'open' }
  | { readonly state: 'closed'; readonly error: RequestFailure };

const unopened: Gate = { state: 'unopened' };
const away: Gate = { state: 'away' };
const initializing: Gate = { state: 'greeting' };
const opened: Gate = { state: 'open' };

/**
 * Ids of our requests to one peer. No id is used twice.
 *
 * A server's ids are `s-<n>-<uuid>`: a counter with a random suffix per session. A host's ids are
 * integers, counted across all channels of its connection, as all widespread clients send and some
 * servers expect. An id is parsed back to its number, so pending requests need no map by text
 * (docs/decisions/05-one-core-two-sides.md).
 */
export class RequestIds {
  readonly #form: 'integers' | (() => string);
  /** Created with the first id, since it loads the platform's cryptography. */
  #end: string | undefined;
  #given = 0;

  /** @param form `integers`, or a function that returns an unguessable suffix */
  constructor(form: 'integers' | (() => string) = () => crypto.randomUUID()) {
    this.#form = form;
  }

  /** True once an id has been used. */
  get isUsed(): boolean {
    return this.#given > 0;
  }

  /** Number of the next request. */
  next(): number {
    return ++this.#given;
  }

  /** Id of the request with this number. */
  idOf(number: number): OutboundRequestId {
    if (this.#form === 'integers') return number as OutboundRequestId;
    this.#end ??= `-${this.#form()}`;
    return `s-${number}${this.#end}` as OutboundRequestId;
  }

  /**
   * Number of one of our requests, pending or not; undefined for anything but its exact id: `"1"`
   * is not `1`.
   */
  numberOf(id: unknown): number | undefined {
    if (this.#form === 'integers') {
      return typeof id === 'number' && this.#isGiven(id) ? id : undefined;
    }
    const end = this.#end;
    if (typeof id !== 'string' || end === undefined || !id.endsWith(end)) return undefined;
    const digits = id.slice(2, -end.length);
    const number = Number(digits);
    // `s-01-…` and `s-1e0-…` parse as numbers but are not ids of ours.
    const isOurs = this.#isGiven(number) && id.startsWith('s-') && String(number) === digits;
    return isOurs ? number : undefined;
  }

  /** Number of an integer id that the peer returned as a string, as some servers do. */
  numberOfText(id: unknown): number | undefined {
    const isText = this.#form === 'integers' && typeof id === 'string';
    return isText && String(Number(id)) === id && this.#isGiven(Number(id))
      ? Number(id)
      : undefined;
  }

  #isGiven(number: number): boolean {
    return number >= 1 && number <= this.#given && Number.isInteger(number);
  }
}

export interface RequestBounds {
  /** Maximum number of pending requests. */
  readonly maxPending: number;
  /** Maximum number of requests held while the gate is closed. Default: no separate limit. */
  readonly maxWaitingAway?: number;
}

export interface CorrelationOptions {
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** Source of request ids. */
  readonly requestIds: RequestIds;
  readonly limits: RequestBounds;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
  /** Treatment of malformed responses to unknown requests. Default: `answered` with an error. */
  readonly malformed?: 'answered' | 'reported';
  /** Receives progress of requests that have already been answered: a task's progress continues. */
  readonly onLateProgress?: (token: OutboundRequestId, report: ProgressReport) => void;
}

/**
 * The correlation actor. Its snapshot's `view` is the live map of {@link PendingRequest} by number,
 * in sending order.
 */
export function correlationActor(
  optionsOf: (input: CorrelationInput) => CorrelationOptions,
): Port<CorrelationEvent, CorrelationInput> {
  return plainActor(({ input, self }) => new Correlation(optionsOf(input), self, input.writer));
}

/** A pending request in the snapshot's `view`. Times are clock ms. */
export interface PendingRequest {
  readonly id: OutboundRequestId;
  readonly method: string;
  readonly sentAt: number;
  readonly dueAt: number;
  /** `held`: not sent yet, because the gate is closed. */
  readonly state: 'held' | 'sent';
  /** The sender's request: `relatedTo`, and `meta` for one of a task. */
  readonly request: Pick<PeerRequest, 'relatedTo' | 'meta'>;
}

/** A pending request, found by its number. */
class Pending extends Expiring implements PendingRequest {
  number: number;
  readonly request: PeerRequest;
  readonly sentAt: number;
  state: PendingRequest['state'] = 'held';
  readonly #ids: RequestIds;

  constructor(ids: RequestIds, request: PeerRequest, sentAt: number) {
    super();
    this.#ids = ids;
    this.number = ids.next();
    this.request = request;
    // V8 stores integers inline, and other numbers on the heap.
    this.sentAt = Math.floor(sentAt);
  }

  override get inBackground(): boolean {
    return this.request.inBackground === true;
  }

  /** Computed on each access, so that thousands of pending requests do not each keep a string. */
  get id(): OutboundRequestId {
    return this.#ids.idOf(this.number);
  }

  get method(): string {
    return this.request.method;
  }

  /** Returns the request to the held state, to be sent under a new id. */
  renew(unserved: OutboundFrame): void {
    this.number = this.#ids.next();
    this.state = 'held';
    // The sender may have dropped its params, so they are restored from the frame.
    if ('params' in unserved) this.request.params = unserved.params as JsonObject | undefined;
  }

  /** The frame for the peer. Throws if reading the caller's params throws. */
  get frame(): OutboundRequest | OutboundNotification {
    const { id, method, request } = this;
    if (request.awaits === 'delivery') {
      const { params, meta } = request;
      const allParams = meta ? withMeta(params ?? {}, meta) : params;
      return allParams ? { jsonrpc: '2.0', method, params: allParams } : { jsonrpc: '2.0', method };
    }
    const params = paramsOf(request, id);
    return params ? { jsonrpc: '2.0', id, method, params } : { jsonrpc: '2.0', id, method };
  }

  /** @param now clock ms */
  elapsedMs(now: number): number {
    return Math.round(now - this.sentAt);
  }

  /**
   * Settles the request with an error.
   *
   * @param now clock ms
   */
  fail(now: number, code: RuntimeErrorCode, message: string, details: FailureDetails = {}): void {
    const { id, method } = this;
    const request = { method, id, elapsedMs: this.elapsedMs(now) };
    const error = new RuntimeError(code, message, { ...details, request });
    this.request.settle({ ok: false, error });
  }

  /**
   * Settles the request with an error of its own, created from this failure.
   *
   * @param now clock ms
   */
  failWith(now: number, failure: RequestFailure, cause = failure.cause): void {
    const { code, message, exit, status } = failure;
    this.fail(now, code, message, { cause, exit, status });
  }
}

interface FailureDetails extends Partial<Pick<RequestFailure, 'cause' | 'exit' | 'status'>> {
  readonly remote?: WireError;
}

/** @see MCP 2025-11-25, basic/utilities/progress, "Progress Flow" */
function paramsOf(request: PeerRequest, id: OutboundRequestId): JsonObject | undefined {
  const { params, meta, onProgress } = request;
  if (!onProgress) return meta ? withMeta(params ?? {}, meta) : params;
  const more = { progressToken: id };
  return withMeta(params ?? {}, meta ? { ...meta, ...more } : more);
}

/** The progress report of a notification. Keeps unknown members, drops malformed ones. */
function progressReportOf(progress: number, params: JsonObject | undefined): ProgressReport {
  const { total, message } = params ?? {};
  return {
    ...omit(params ?? {}, 'progressToken', 'total', 'message'),
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

/** The error of requests pending at the end of the session. */
const sessionEnded: RequestFailure = {
  code: 'TRANSPORT_CLOSED',
  message: 'The session has ended',
};

/** Rejects a request that never becomes pending. */
function refuse(request: PeerRequest, failure: RequestFailure): void {
  const { code, message, cause, exit, status } = failure;
  const failed = { method: request.method, elapsedMs: 0 };
  const error = new RuntimeError(code, message, { cause, exit, status, request: failed });
  request.settle({ ok: false, error });
}

/** Ways in which a request ends without an answer. */
type Unanswered = 'timedOut' | 'cancelled';

/** Unanswered requests to remember, to distinguish late responses from duplicates. */
const rememberedUnanswered = 1024;

class UnexpectedResponses {
  readonly #log: Report<ActorFactName>;
  /** The latest unanswered requests. All other used ids that are not pending were answered. */
  readonly #unanswered = new BoundedMap<number, Unanswered>(rememberedUnanswered);

  constructor(report: Report<ActorFactName>) {
    this.#log = report;
  }

  /** Records that a request has ended without an answer. */
  note(number: number, ending: Unanswered): void {
    this.#unanswered.set(number, ending);
  }

  /**
   * Reports a response that settles no request.
   *
   * @param number of the request that the response names, if it is one of ours
   */
  take({ id }: InboundResponse, number: number | undefined): void {
    if (number === undefined) {
      const message = `A response to the unknown request id ${inspectValue(id)}; dropped`;
      return this.#report('response.unknown', message);
    }
    const ending = this.#unanswered.get(number);
    if (ending === undefined) {
      return this.#report(
        'response.duplicate',
        `A second response to ${inspectValue(id)}; dropped`,
      );
    }
    const why = ending === 'timedOut' ? 'timed out' : 'was cancelled';
    const message = `A response to ${inspectValue(id)} after its request ${why}; dropped`;
    this.#report('response.late', message);
  }

  #report(
    name: 'response.duplicate' | 'response.late' | 'response.unknown',
    message: string,
  ): void {
    this.#log({ level: 'debug', name, message });
  }
}

/** Additions below which the map is not worth renewing. */
const minAddedForRenewal = 64;

class PendingRequests {
  readonly #options: CorrelationOptions;
  readonly #deadlines: DeadlineQueue<Pending>;
  #pending = new Map<number, Pending>();
  /** Number of additions to the map. */
  #added = 0;
  #unexpected: UnexpectedResponses | undefined = undefined;
  /** Original numbers of requests that a session returned unserved. */
  #requeued: WeakMap<Pending, number> | undefined = undefined;

  /** @param onDue called with each request that has run out of time */
  constructor(options: CorrelationOptions, onDue: (pending: Pending) => void) {
    this.#options = options;
    this.#deadlines = new DeadlineQueue(options.clock, onDue);
  }

  /** Live view of the pending requests, in sending order. */
  get byNumber(): ReadonlyMap<number, Pending> {
    return this.#pending;
  }

  /** Snapshot of the pending requests, safe to iterate while they settle. */
  get all(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  /** Held requests, in the order in which they will be sent. */
  get waiting(): readonly Pending[] {
    const waiting = this.all.filter(({ state }) => state === 'held');
    const returned = this.#requeued;
    if (!returned) return waiting;
    const placeOf = (pending: Pending) => returned.get(pending) ?? pending.number;
    return waiting.sort((one, other) => placeOf(one) - placeOf(other));
  }

  /** @param now clock ms */
  add(request: PeerRequest, now: number): Pending {
    const pending = new Pending(this.#options.requestIds, request, now);
    request.ticket = pending;
    this.#pending.set(pending.number, pending);
    this.#added++;
    this.#deadlines.add(pending, Math.min(request.timeoutMs, request.maxTotalMs), now);
    return pending;
  }

  /**
   * Replaces the map after many additions: V8 keeps ended entries reachable through the tables that
   * a map has outgrown, see `CallsInFlight`.
   */
  renewMap(): void {
    if (this.#added < minAddedForRenewal + 4 * this.#pending.size) return;
    this.#pending = new Map(this.#pending);
    this.#added = 0;
  }

  /** Number of one of our ids; undefined for any other id. */
  numberOf(id: unknown): number | undefined {
    return this.#options.requestIds.numberOf(id);
  }

  /** The pending request with this id. */
  find(id: unknown): Pending | undefined {
    const number = this.numberOf(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** The pending request whose integer id came back as a string. */
  findByText(id: unknown): Pending | undefined {
    const number = this.#options.requestIds.numberOfText(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** Sets the remaining time of a request. @param now clock ms */
  extend(pending: Pending, durationMs: number, now: number): void {
    this.#deadlines.add(pending, durationMs, now);
  }

  /** Removes and returns the request that a response with this id answers. */
  take(id: unknown): Pending | undefined {
    const pending = this.find(id);
    if (pending) this.forget(pending);
    return pending;
  }

  /** Removes an answered request. */
  forget(pending: Pending): void {
    this.#pending.delete(pending.number);
    this.#deadlines.remove(pending);
  }

  /** Removes a request that ends without an answer. */
  end(pending: Pending, ending: Unanswered): void {
    this.forget(pending);
    this.#strays.note(pending.number, ending);
  }

  /** Reports a response that no pending request awaits. */
  unexpected(response: InboundResponse): void {
    this.#strays.take(response, this.numberOf(response.id));
  }

  /**
   * Holds the request again, under a new id but in its original position. Its deadline stays.
   *
   * @param frame the frame that was not served
   * @returns false, without any change, if the request was requeued before or belongs to the
   *   handshake
   */
  requeue(pending: Pending, frame: OutboundFrame): boolean {
    const returned = (this.#requeued ??= new WeakMap());
    if (pending.request.isHandshake || returned.has(pending)) return false;
    returned.set(pending, pending.number);
    this.#pending.delete(pending.number);
    this.#strays.note(pending.number, 'cancelled');
    pending.renew(frame);
    this.#pending.set(pending.number, pending);
    return true;
  }

  stop(): void {
    this.#deadlines.clear();
  }

  /** Created for the first request without an answer. */
  get #strays(): UnexpectedResponses {
    return (this.#unexpected ??= new UnexpectedResponses(this.#options.report));
  }
}

function isHandshake({ request }: Pending): boolean {
  return request.isHandshake === true;
}

/**
 * Appends an item, creating the list with the first. Most lists keep one member, and V8 gives a
 * growing empty array room for seventeen.
 */
function withOneMore<T>(list: T[] | undefined, item: T): T[] {
  if (!list) return [item];
  list.push(item);
  return list;
}

class Correlation implements Behaviour<CorrelationEvent> {
  readonly #pending: PendingRequests;
  readonly #options: CorrelationOptions;
  readonly #self: Ref<DeliveryEvent>;
  /** Undefined without a channel. */
  #writer: Ref<WriterEvent> | undefined;
  /** True if each request and its answer are reported. */
  readonly #isTraced: boolean;
  /** Decides about new requests. */
  #gate: Gate;

  constructor(
    options: CorrelationOptions,
    self: Ref<DeliveryEvent>,
    writer: Ref<WriterEvent> | undefined,
  ) {
    this.#options = options;
    this.#pending = new PendingRequests(options, (pending) => this.#expire(pending));
    this.#self = self;
    this.#isTraced = (options.report.threshold ?? 'debug') === 'debug';
    this.#writer = writer;
    this.#gate = writer ? unopened : away;
  }

  get view(): ReadonlyMap<number, PendingRequest> {
    return this.#pending.byNumber;
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
        return this.#openChannel(event.writer);
      case 'gate.opened':
        return this.#open();
      case 'gate.held':
        return this.#hold();
      case 'channel.lost':
        if (event.peer === 'told') this.#withdrawAll(event.error.message);
        return this.#loseChannel(event.error);
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
      const refusal = refusalOf(request, this.#gate, this.#pending, this.#options);
      if (refusal) {
        refuse(request, refusal);
        continue;
      }
      taken = withOneMore(taken, this.#pending.add(request, now));
    }
    this.#pending.renewMap();
    if (!taken) return;
    if (this.#gate.state === 'open') this.#send(taken);
    else if (this.#writer) this.#send(taken.filter(isHandshake));
  }

  /** Sends requests in order. Consecutive requests with the same `relatedTo` share one event. */
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
        // Reading the caller's params may run its code.
        this.#reject(pending, error);
      }
    }
    this.#writeRequests(frames, relatedTo);
  }

  #writeRequests(frames: OutboundFrame[] | undefined, relatedTo: RelatedRequest | undefined): void {
    if (!frames) return;
    this.#writer?.send({ type: 'frames.send', frames, relatedTo, reportTo: this.#self });
  }

  /** Sends a notification, and settles it once the transport has accepted it. */
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
    const pending = this.#pending.byNumber.get(receipt);
    if (!pending) return;
    this.#pending.forget(pending);
    pending.request.settle({ ok: true, result: {} });
  }

  #pendingOf(frame: OutboundFrame): Pending | undefined {
    return 'method' in frame && 'id' in frame ? this.#pending.find(frame.id) : undefined;
  }

  #rejected(frame: OutboundFrame, error: unknown, receipt: number | undefined): void {
    const pending =
      receipt === undefined ? this.#pendingOf(frame) : this.#pending.byNumber.get(receipt);
    if (pending) this.#reject(pending, error);
  }

  /**
   * Holds an unserved request until the next handshake. Rejects it if it belongs to the handshake
   * or was returned before.
   */
  #returned(frame: OutboundFrame, error: unknown): void {
    const pending = this.#pendingOf(frame);
    if (pending && !this.#pending.requeue(pending, frame)) this.#reject(pending, error);
  }

  #reject(pending: Pending, cause: unknown): void {
    this.#pending.end(pending, 'cancelled');
    if (cause instanceof RuntimeError) return pending.failWith(this.#now, cause, cause);
    const message = `The params of ${pending.method} cannot be encoded as JSON: ${textOfError(cause)}`;
    pending.fail(this.#now, 'UNSERIALIZABLE', message, { cause });
  }

  #receive(response: InboundResponse): void {
    const { id, outcome } = response;
    const pending = this.#pending.take(id);
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
    const meant = this.#pending.findByText(id);
    if (meant) {
      this.#pending.forget(meant);
      return this.#malformed(
        meant,
        `its "id" must be ${meant.number}, got the string ${inspectValue(id)}`,
      );
    }
    this.#pending.unexpected(response);
    const isOurs = this.#pending.numberOf(id) !== undefined;
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
    const pending = this.#pending.find(request.ticket?.id);
    if (!pending) return;
    const reason = describeReason(cause);
    this.#abort(pending, 'cancelled', reason);
    pending.fail(this.#now, 'CANCELLED', `${pending.method} was cancelled: ${reason}`, { cause });
  }

  #expire(pending: Pending): void {
    const { id, method } = pending;
    const waitedMs = pending.elapsedMs(this.#now);
    const message = `${describeTimeout(pending, this.#gate, this.#options.peer)} within ${waitedMs} ms`;
    this.#abort(pending, 'timedOut', message);
    this.#options.report({
      level: 'warning',
      name: 'request.timedOut',
      message,
      details: { id, method, waitedMs },
    });
    pending.fail(this.#now, 'REQUEST_TIMEOUT', message);
  }

  /** Ends a request, and cancels it at the peer if it was sent and may be cancelled. */
  #abort(pending: Pending, ending: Unanswered, reason: string): void {
    this.#pending.end(pending, ending);
    this.#withdraw(pending, reason);
  }

  #withdrawAll(reason: string): void {
    for (const pending of this.#pending.all) this.#withdraw(pending, reason);
  }

  #withdraw({ id, request, state }: Pending, reason: string): void {
    if (state === 'held' || request.isHandshake || request.awaits === 'delivery') return;
    const { meta } = request;
    const params = { requestId: id, reason, ...(meta ? { _meta: meta } : {}) };
    this.#write({ jsonrpc: '2.0', method: Method.cancelled, params }, request.relatedTo);
  }

  #progress(params: JsonObject | undefined): void {
    const { progressToken, progress } = params ?? {};
    const isOurs = this.#pending.numberOf(progressToken as OutboundRequestId) !== undefined;
    if (!isOurs || typeof progress !== 'number') {
      const message = isOurs
        ? `"progress" must be a number, got ${inspectValue(progress)}; dropped`
        : `Progress for the unknown token ${inspectValue(progressToken)}; dropped`;
      return this.#options.report({ level: 'debug', name: 'progress.unknown', message });
    }
    const pending = this.#pending.find(progressToken as OutboundRequestId);
    const { onLateProgress } = this.#options;
    // Progress after the answer is normal.
    if (!pending)
      return onLateProgress?.(
        progressToken as OutboundRequestId,
        progressReportOf(progress, params),
      );
    if (!pending.request.onProgress) return;
    const { timeoutMs, maxTotalMs } = pending.request;
    const now = this.#options.clock.now();
    const leftMs = pending.sentAt + maxTotalMs - now;
    this.#pending.extend(pending, Math.max(0, Math.min(timeoutMs, leftMs)), now);
    pending.request.onProgress(progressReportOf(progress, params));
  }

  #remoteCancelled(id: OutboundRequestId, reason: unknown): void {
    const pending = this.#pending.find(id);
    if (!pending) {
      const message = `The ${this.#options.peer} cancelled the request ${inspectValue(id)}, which is not in flight`;
      return this.#report('cancellation.ignored', message);
    }
    this.#pending.end(pending, 'cancelled');
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The ${this.#options.peer} will not answer ${pending.method}${why}`;
    pending.fail(this.#now, 'REMOTE_CANCELLED', message);
  }

  #open(): void {
    // Without a channel there is no writer to send with.
    if (!this.#writer) return;
    this.#gate = opened;
    this.#send(this.#pending.waiting);
  }

  #openChannel(writer: Ref<WriterEvent>): void {
    this.#writer = writer;
    this.#gate = initializing;
    this.#send(this.#pending.waiting.filter(isHandshake));
  }

  #hold(): void {
    if (this.#gate.state === 'open') this.#gate = initializing;
  }

  #loseChannel(error: RequestFailure): void {
    this.#writer = undefined;
    this.#gate = away;
    for (const pending of this.#pending.all) {
      if (pending.state === 'sent') this.#fail(pending, error);
    }
  }

  #close(error: RequestFailure): void {
    this.#gate = { state: 'closed', error };
    for (const pending of this.#pending.all) this.#fail(pending, error);
    this.#pending.stop();
  }

  #fail(pending: Pending, error: RequestFailure): void {
    this.#pending.end(pending, 'cancelled');
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

/** The reason to refuse a request; undefined to accept it. */
function refusalOf(
  request: PeerRequest,
  gate: Gate,
  pending: PendingRequests,
  { limits, peer }: { readonly limits: RequestBounds; readonly peer: PeerRole },
): RequestFailure | undefined {
  if (gate.state === 'closed') return gate.error;
  const { method, isHandshake } = request;
  const { maxPending, maxWaitingAway = Infinity } = limits;
  // Pings bypass the limit: liveness must be known even if the peer owes many answers.
  if (pending.byNumber.size >= maxPending && method !== Method.ping) {
    const message = `${maxPending} requests to the ${peer} are pending; retry when one has ended`;
    return { code: 'LIMIT_EXCEEDED', message };
  }
  if (gate.state === 'open' || isHandshake) return undefined;
  if (request.whenAway === 'refuse') {
    return { code: 'NOT_READY', message: `${method} was not sent: the ${peer} is not connected` };
  }
  if (maxWaitingAway === Infinity || pending.waiting.length < maxWaitingAway) return undefined;
  const message = `${method} was not sent: ${maxWaitingAway} requests are already waiting for the ${peer} to connect`;
  return { code: 'LIMIT_EXCEEDED', message };
}

/** Beginning of the message of a timed-out request. */
function describeTimeout({ method, state, request }: Pending, gate: Gate, peer: PeerRole): string {
  if (state === 'held' && gate.state !== 'unopened') {
    return `${method} was not sent: the ${peer} was not connected`;
  }
  return request.awaits === 'delivery'
    ? `The ${peer} has not accepted ${method}`
    : `The ${peer} has not answered ${method}`;
}
