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
 * New requests are held until the peer may be asked, then sent; at the end they are refused. A host
 * is `away` while it has no channel, and `greeting` until the handshake over one is done.
 */
type Gate =
  | { readonly state: 'unopened' | 'away' | 'greeting' | 'open' }
  | { readonly state: 'closed'; readonly error: RequestFailure };

const unopened: Gate = { state: 'unopened' };
const away: Gate = { state: 'away' };
const initializing: Gate = { state: 'greeting' };
const opened: Gate = { state: 'open' };

/**
 * The ids of our requests to one peer. None is given twice.
 *
 * A server's are `s-<n>-<uuid>`: counted, with a random end that is the session's. A host's are
 * integers, counted over all channels of its connection: what every widespread client sends, and
 * what weak servers are made for. An id is read back to its number, so that nothing needs to be kept
 * by its text (docs/maintaining/decisions/05-one-core-two-sides.md).
 */
export class RequestIds {
  readonly #form: 'integers' | (() => string);
  /** Made with the first id: the platform loads its cryptography for it. */
  #end: string | undefined;
  #given = 0;

  /** @param form `integers`, or what makes an unguessable end */
  constructor(form: 'integers' | (() => string) = () => crypto.randomUUID()) {
    this.#form = form;
  }

  /** True once a request was given an id. */
  get isUsed(): boolean {
    return this.#given > 0;
  }

  /** The number of the next request. */
  next(): number {
    return ++this.#given;
  }

  /** The id of a request with that number. */
  idOf(number: number): OutboundRequestId {
    if (this.#form === 'integers') return number as OutboundRequestId;
    this.#end ??= `-${this.#form()}`;
    return `s-${number}${this.#end}` as OutboundRequestId;
  }

  /**
   * The number of one of our requests, pending or not; undefined for anything that is not exactly the
   * id of one: `"1"` is not `1`.
   */
  numberOf(id: unknown): number | undefined {
    if (this.#form === 'integers') {
      return typeof id === 'number' && this.#isGiven(id) ? id : undefined;
    }
    const end = this.#end;
    if (typeof id !== 'string' || end === undefined || !id.endsWith(end)) return undefined;
    const digits = id.slice(2, -end.length);
    const number = Number(digits);
    // `s-01-…` and `s-1e0-…` are numbers too, but no ids.
    const isOurs = this.#isGiven(number) && id.startsWith('s-') && String(number) === digits;
    return isOurs ? number : undefined;
  }

  /** The number that an id of the wrong type means: some servers send an integer back as a string. */
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
  /** Requests that may be pending at once. */
  readonly maxPending: number;
  /** Of them, those that may wait for the gate to be opened. They have no bound of their own if it is missing. */
  readonly maxWaitingAway?: number;
}

export interface CorrelationOptions {
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** Gives the requests their ids. */
  readonly requestIds: RequestIds;
  readonly limits: RequestBounds;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
  /**
   * What becomes of a response that cannot be read and belongs to no request. `answered`, the
   * default: the peer gets an error.
   */
  readonly malformed?: 'answered' | 'reported';
  /** Hears progress of requests that are answered: a task's goes on. */
  readonly onLateProgress?: (token: OutboundRequestId, report: ProgressReport) => void;
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

/** A pending request as the snapshot's `view` shows it. Times are the clock's milliseconds. */
export interface PendingRequest {
  readonly id: OutboundRequestId;
  readonly method: string;
  readonly sentAt: number;
  readonly dueAt: number;
  /** Whether the peer can know of it: before the gate is open it is held. */
  readonly state: 'held' | 'sent';
  /** Whose it is: what `relatedTo` of the request says, and its `meta` for a task's. */
  readonly request: Pick<PeerRequest, 'relatedTo' | 'meta'>;
}

/** Our request while it is pending: correlation finds it by its number. */
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
    // A whole number takes no room of its own.
    this.sentAt = Math.floor(sentAt);
  }

  override get inBackground(): boolean {
    return this.request.inBackground === true;
  }

  /** Made anew each time: ten thousand that wait need not keep ten thousand texts. */
  get id(): OutboundRequestId {
    return this.#ids.idOf(this.number);
  }

  get method(): string {
    return this.request.method;
  }

  /** It waits again, and will be sent under another id. */
  renew(unserved: OutboundFrame): void {
    this.number = this.#ids.next();
    this.state = 'held';
    // Its asker may have let go of them.
    if ('params' in unserved) this.request.params = unserved.params as JsonObject | undefined;
  }

  /** What goes to the peer. Throws what reading the caller's params throws. */
  get frame(): OutboundRequest | OutboundNotification {
    const { id, method, request } = this;
    if (request.awaits === 'delivery') {
      const { params, meta } = request;
      const told = meta ? withMeta(params ?? {}, meta) : params;
      return told ? { jsonrpc: '2.0', method, params: told } : { jsonrpc: '2.0', method };
    }
    const params = paramsOf(request, id);
    return params ? { jsonrpc: '2.0', id, method, params } : { jsonrpc: '2.0', id, method };
  }

  /** @param now the clock's milliseconds */
  elapsedMs(now: number): number {
    return Math.round(now - this.sentAt);
  }

  /**
   * Settles it with an error.
   *
   * @param now the clock's milliseconds
   */
  fail(now: number, code: RuntimeErrorCode, message: string, details: FailureDetails = {}): void {
    const { id, method } = this;
    const request = { method, id, elapsedMs: this.elapsedMs(now) };
    const error = new RuntimeError(code, message, { ...details, request });
    this.request.settle({ ok: false, error });
  }

  /**
   * Settles it with an error of its own, made from this failure.
   *
   * @param now the clock's milliseconds
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

/** Progress as the params of its notification tell it, with unknown members; what is malformed is left out. */
function progressReportOf(progress: number, params: JsonObject | undefined): ProgressReport {
  const { total, message } = params ?? {};
  return {
    ...omit(params ?? {}, 'progressToken', 'total', 'message'),
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

/** What requests fail with that are pending when their session ends. */
const sessionEnded: RequestFailure = {
  code: 'TRANSPORT_CLOSED',
  message: 'The session has ended',
};

/** Settles a request that never becomes pending. */
function refuse(request: PeerRequest, failure: RequestFailure): void {
  const { code, message, cause, exit, status } = failure;
  const failed = { method: request.method, elapsedMs: 0 };
  const error = new RuntimeError(code, message, { cause, exit, status, request: failed });
  request.settle({ ok: false, error });
}

/** How requests end that have no answer. */
type Unanswered = 'timedOut' | 'cancelled';

/** How many of them are remembered, to tell a late response from a second one. */
const rememberedUnanswered = 1024;

class UnexpectedResponses {
  readonly #log: Report<ActorFactName>;
  /**
   * The latest that ended without an answer. All others that were given an id, and are not pending,
   * were answered.
   */
  readonly #unanswered = new BoundedMap<number, Unanswered>(rememberedUnanswered);

  constructor(report: Report<ActorFactName>) {
    this.#log = report;
  }

  /** A request has ended without an answer. */
  note(number: number, ending: Unanswered): void {
    this.#unanswered.set(number, ending);
  }

  /**
   * A response has come that settles nothing.
   * @param number of the request that it names, if that is one of ours
   */
  take({ id }: InboundResponse, number: number | undefined): void {
    if (number === undefined) {
      const message = `A response to ${inspectValue(id)}, which nobody sent; dropped`;
      return this.#report('response.unknown', message);
    }
    const ending = this.#unanswered.get(number);
    if (ending === undefined) {
      return this.#report(
        'response.duplicate',
        `A second response to ${inspectValue(id)}; dropped`,
      );
    }
    const why = ending === 'timedOut' ? 'given up' : 'cancelled';
    const message = `A response to ${inspectValue(id)} after it was ${why}; dropped`;
    this.#report('response.late', message);
  }

  #report(
    name: 'response.duplicate' | 'response.late' | 'response.unknown',
    message: string,
  ): void {
    this.#log({ level: 'debug', name, message });
  }
}

/** A map that has taken fewer requests is not worth another one. */
const leastAdded = 64;

class PendingRequests {
  readonly #options: CorrelationOptions;
  readonly #deadlines: DeadlineQueue<Pending>;
  #pending = new Map<number, Pending>();
  /** How many the map has taken. */
  #added = 0;
  #unexpected: UnexpectedResponses | undefined = undefined;
  /** The first numbers of those that a session had not served before it ended. */
  #requeued: WeakMap<Pending, number> | undefined = undefined;

  /** @param onDue called with each that has no time left */
  constructor(options: CorrelationOptions, onDue: (pending: Pending) => void) {
    this.#options = options;
    this.#deadlines = new DeadlineQueue(options.clock, onDue);
  }

  /** Live: what is pending, in the order of asking. */
  get byNumber(): ReadonlyMap<number, Pending> {
    return this.#pending;
  }

  /** All of them, whatever becomes of them meanwhile. */
  get all(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  /** What is held, in the order in which it is to be sent. */
  get waiting(): readonly Pending[] {
    const waiting = this.all.filter(({ state }) => state === 'held');
    const returned = this.#requeued;
    if (!returned) return waiting;
    const placeOf = (pending: Pending) => returned.get(pending) ?? pending.number;
    return waiting.sort((one, other) => placeOf(one) - placeOf(other));
  }

  /** @param now the clock's milliseconds */
  add(request: PeerRequest, now: number): Pending {
    const pending = new Pending(this.#options.requestIds, request, now);
    request.ticket = pending;
    this.#pending.set(pending.number, pending);
    this.#added++;
    this.#deadlines.add(pending, Math.min(request.timeoutMs, request.maxTotalMs), now);
    return pending;
  }

  /**
   * Goes on with a new map if the old one has taken many: V8 keeps what has ended in the tables that
   * a map has outgrown, see `CallsInFlight`.
   */
  renewMap(): void {
    if (this.#added < leastAdded + 4 * this.#pending.size) return;
    this.#pending = new Map(this.#pending);
    this.#added = 0;
  }

  /** The number that an id stands for; undefined if it is not one of our ids. */
  numberOf(id: unknown): number | undefined {
    return this.#options.requestIds.numberOf(id);
  }

  /** The pending request that an id belongs to. */
  find(id: unknown): Pending | undefined {
    const number = this.numberOf(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** The pending request that an id of the wrong type means. */
  findByText(id: unknown): Pending | undefined {
    const number = this.#options.requestIds.numberOfText(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** Gives it so much time from now on. @param now the clock's milliseconds */
  extend(pending: Pending, durationMs: number, now: number): void {
    this.#deadlines.add(pending, durationMs, now);
  }

  /** Takes the request out of the books that an answer with this id is for. */
  take(id: unknown): Pending | undefined {
    const pending = this.find(id);
    if (pending) this.forget(pending);
    return pending;
  }

  /** Takes a request out of the books that has its answer. */
  forget(pending: Pending): void {
    this.#pending.delete(pending.number);
    this.#deadlines.remove(pending);
  }

  /** Takes a request out of the books that ends without an answer. */
  end(pending: Pending, ending: Unanswered): void {
    this.forget(pending);
    this.#strays.note(pending.number, ending);
  }

  /** A response has come that no pending request waits for. */
  unexpected(response: InboundResponse): void {
    this.#strays.take(response, this.numberOf(response.id));
  }

  /**
   * It waits once more, under another id, in the place that it had. Its time goes on.
   *
   * @param frame that was not served
   * @returns false, and does nothing, if it has been returned before or is of the handshake
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

  /** Stops the timer. */
  stop(): void {
    this.#deadlines.clear();
  }

  /** Made for the first request that has no answer. */
  get #strays(): UnexpectedResponses {
    return (this.#unexpected ??= new UnexpectedResponses(this.#options.report));
  }
}

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
  readonly #pending: PendingRequests;
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

  /** Holds a request until the next handshake. Rejects one of the handshake, or returned before. */
  #returned(frame: OutboundFrame, error: unknown): void {
    const pending = this.#pendingOf(frame);
    if (pending && !this.#pending.requeue(pending, frame)) this.#reject(pending, error);
  }

  #reject(pending: Pending, cause: unknown): void {
    this.#pending.end(pending, 'cancelled');
    if (cause instanceof RuntimeError) return pending.failWith(this.#now, cause, cause);
    const message = `The params of ${pending.method} cannot be written as JSON: ${textOfError(cause)}`;
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

  /** Ends a request and tells the peer, if the request has ever been sent and may be cancelled. */
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
        ? `Progress must be a number, this is ${inspectValue(progress)}; dropped`
        : `Progress for the token ${inspectValue(progressToken)}, which nobody gave; dropped`;
      return this.#options.report({ level: 'debug', name: 'progress.unknown', message });
    }
    const pending = this.#pending.find(progressToken as OutboundRequestId);
    const { onLateProgress } = this.#options;
    // Progress after an end is normal.
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
      const message = `The ${this.#options.peer} cancelled ${inspectValue(id)}, which is not in flight`;
      return this.#report('cancellation.ignored', message);
    }
    this.#pending.end(pending, 'cancelled');
    const why = typeof reason === 'string' ? `: ${reason.slice(0, 500)}` : '';
    const message = `The ${this.#options.peer} will not answer ${pending.method}${why}`;
    pending.fail(this.#now, 'REMOTE_CANCELLED', message);
  }

  #open(): void {
    // Without a channel there is nothing that it could be sent over.
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

/** Why a request is not taken; undefined if it is. */
function refusalOf(
  request: PeerRequest,
  gate: Gate,
  pending: PendingRequests,
  { limits, peer }: { readonly limits: RequestBounds; readonly peer: PeerRole },
): RequestFailure | undefined {
  if (gate.state === 'closed') return gate.error;
  const { method, isHandshake } = request;
  const { maxPending, maxWaitingAway = Infinity } = limits;
  // A ping passes: whether the peer is there must be known also when it owes many answers.
  if (pending.byNumber.size >= maxPending && method !== Method.ping) {
    const message = `${maxPending} requests to the ${peer} are pending, no more are sent until one ends`;
    return { code: 'LIMIT_EXCEEDED', message };
  }
  if (gate.state === 'open' || isHandshake) return undefined;
  if (request.whenAway === 'refuse') {
    return { code: 'NOT_READY', message: `${method} was not sent: the ${peer} is not connected` };
  }
  if (maxWaitingAway === Infinity || pending.waiting.length < maxWaitingAway) return undefined;
  const message = `${method} was not sent: ${maxWaitingAway} requests wait already until the ${peer} is connected`;
  return { code: 'LIMIT_EXCEEDED', message };
}

/** What a request's time has passed without. */
function describeTimeout({ method, state, request }: Pending, gate: Gate, peer: PeerRole): string {
  if (state === 'held' && gate.state !== 'unopened') {
    return `${method} was not sent: the ${peer} was not connected`;
  }
  return request.awaits === 'delivery'
    ? `The ${peer} has not taken ${method}`
    : `The ${peer} has not answered ${method}`;
}
