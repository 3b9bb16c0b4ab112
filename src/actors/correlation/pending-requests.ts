/**
 * Our pending requests: their ids, their deadlines, and what is known of those that have
 * ended without an answer. They are kept by number, which each request's id is read back to.
 */
import type { PeerRequest } from '../../machines/peer-ports.ts';
import { BoundedMap } from '../../protocol/bounded-map.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { omit } from '../../protocol/dialects/members.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { RuntimeErrorCode, RequestFailure } from '../../protocol/errors.ts';
import type {
  InboundResponse,
  JsonObject,
  OutboundFrame,
  OutboundNotification,
  OutboundRequest,
  OutboundRequestId,
  WireError,
} from '../../protocol/frames.ts';
import { withMeta } from '../../protocol/meta.ts';
import { holdProcess, releaseProcess } from '../clock.ts';
import type { Clock } from '../clock.ts';
import type { ActorFactName, Report } from '../facts.ts';

/**
 * The ids of our requests to one peer. None is given twice.
 *
 * A server's are `s-<n>-<uuid>`: counted, with a random end that is the session's. A host's are
 * integers, counted over all channels of its connection: what every widespread client sends, and
 * what weak servers are made for. An id is read back to its number, so that nothing needs to be kept
 * by its text (docs/decisions/05-one-core-two-sides.md).
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
  of(number: number): OutboundRequestId {
    if (this.#form === 'integers') return number as OutboundRequestId;
    this.#end ??= `-${this.#form()}`;
    return `s-${number}${this.#end}` as OutboundRequestId;
  }

  /**
   * The number of one of our requests, pending or not; undefined for anything that is not exactly the
   * id of one: `"1"` is not `1`.
   */
  read(id: unknown): number | undefined {
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
  readText(id: unknown): number | undefined {
    const isText = this.#form === 'integers' && typeof id === 'string';
    return isText && String(Number(id)) === id && this.#isGiven(Number(id))
      ? Number(id)
      : undefined;
  }

  #isGiven(number: number): boolean {
    return number >= 1 && number <= this.#given && Number.isInteger(number);
  }
}

/**
 * What can be queued; the queue keeps its place on it, because a set of places would cost more than
 * what it holds.
 */
export class Expiring {
  /** When it is due, in the clock's milliseconds: a whole number, which takes no room of its own. */
  dueAt = 0;
  /** Its index in the queue; undefined while it is not queued. */
  lane: Lane | undefined = undefined;
  previous: Expiring | undefined = undefined;
  next: Expiring | undefined = undefined;

  /** Whether no code waits for it, so that it need not keep the process alive. */
  get inBackground(): boolean {
    return false;
  }
}

/** What has the same duration, in the order in which it was added. */
class Lane {
  readonly durationMs: number;
  first: Expiring | undefined = undefined;
  last: Expiring | undefined = undefined;

  constructor(durationMs: number) {
    this.durationMs = durationMs;
  }

  push(item: Expiring): void {
    item.lane = this;
    item.previous = this.last;
    if (this.last) this.last.next = item;
    else this.first = item;
    this.last = item;
  }

  delete(item: Expiring): void {
    const { previous, next } = item;
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.last = previous;
    item.lane = item.previous = item.next = undefined;
  }
}

/**
 * So many lanes may stay though they are empty: nearly always the same few durations come again.
 */
const keptLanes = 8;

/**
 * Deadlines of many things with one timer.
 *
 * Things with the same duration expire in the order in which they were added, so each duration is a
 * lane whose first is next, and adding or removing costs the same at ten things and at a hundred
 * thousand. A heap would need a removal per answer; a timer per request costs more than the
 * request.
 */
export class DeadlineQueue<T extends Expiring> {
  readonly #lanes = new Map<number, Lane>();
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  #timer: unknown;
  /** How many are awaited by user code. While there are any, the timer keeps the process alive. */
  #awaited = 0;
  #wakeAt = Infinity;

  /** @param onDue called once for each item that is due, after it has left the queue */
  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /**
   * Adds an item that is due in `durationMs`, or moves it if it is already queued.
   * @param now what the clock says, if it has just been asked
   */
  add(item: T, durationMs: number, now = this.#clock.now()): void {
    if (item.lane) this.#leave(item.lane, item);
    else if (!item.inBackground && this.#awaited++ === 0) holdProcess(this.#timer);
    item.dueAt = Math.ceil(now + durationMs);
    this.#laneOf(durationMs).push(item);
    if (item.dueAt < this.#wakeAt) this.#wake(item.dueAt);
  }

  /** Takes an item out. The timer is left alone: it finds nothing due, and goes to the next. */
  remove(item: T): void {
    const { lane } = item;
    if (!lane) return;
    this.#leave(lane, item);
    if (!item.inBackground && --this.#awaited === 0) releaseProcess(this.#timer);
  }

  #leave(lane: Lane, item: Expiring): void {
    lane.delete(item);
    if (!lane.first && this.#lanes.size > keptLanes) this.#lanes.delete(lane.durationMs);
  }

  /** Takes everything out and stops the timer. */
  clear(): void {
    for (const lane of this.#lanes.values()) while (lane.first) lane.delete(lane.first);
    this.#lanes.clear();
    this.#awaited = 0;
    this.#wakeAt = Infinity;
    this.#clock.clearTimeout(this.#timer);
  }

  #laneOf(durationMs: number): Lane {
    let lane = this.#lanes.get(durationMs);
    if (!lane) {
      lane = new Lane(durationMs);
      this.#lanes.set(durationMs, lane);
    }
    return lane;
  }

  #wake(at: number): void {
    this.#clock.clearTimeout(this.#timer);
    this.#wakeAt = at;
    // A timer may fire a fraction of a millisecond early; asking for whole ones saves a second
    // round.
    const delayMs = Math.max(0, Math.ceil(at - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => this.#expire(), delayMs);
    if (this.#awaited > 0) holdProcess(this.#timer);
  }

  #expire(): void {
    this.#wakeAt = Infinity;
    const now = this.#clock.now();
    for (const lane of [...this.#lanes.values()]) {
      for (let item = lane.first; item && item.dueAt <= now; item = lane.first) {
        this.remove(item as T);
        this.#onDue(item as T);
      }
    }
    const next = this.#nextDue();
    if (next < this.#wakeAt) this.#wake(next);
  }

  #nextDue(): number {
    let next = Infinity;
    for (const { first } of this.#lanes.values()) if (first) next = Math.min(next, first.dueAt);
    return next;
  }
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
export class Pending extends Expiring implements PendingRequest {
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
    return this.#ids.of(this.number);
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
export function progressReportOf(progress: number, params: JsonObject | undefined): ProgressReport {
  const { total, message } = params ?? {};
  return {
    ...omit(params ?? {}, 'progressToken', 'total', 'message'),
    progress,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

/** What requests fail with that are pending when their session ends. */
export const sessionEnded: RequestFailure = {
  code: 'TRANSPORT_CLOSED',
  message: 'The session has ended',
};

/** Settles a request that never becomes pending. */
export function refuse(request: PeerRequest, failure: RequestFailure): void {
  const { code, message, cause, exit, status } = failure;
  const failed = { method: request.method, elapsedMs: 0 };
  const error = new RuntimeError(code, message, { cause, exit, status, request: failed });
  request.settle({ ok: false, error });
}

/** How requests end that have no answer. */
export type Unanswered = 'timedOut' | 'cancelled';

/** How many of them are remembered, to tell a late response from a second one. */
const rememberedUnanswered = 1024;

class UnexpectedResponses {
  readonly #tell: Report<ActorFactName>;
  /**
   * The latest that ended without an answer. All others that were given an id, and are not pending,
   * were answered.
   */
  readonly #unanswered = new BoundedMap<number, Unanswered>(rememberedUnanswered);

  constructor(report: Report<ActorFactName>) {
    this.#tell = report;
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
    this.#tell({ level: 'debug', name, message });
  }
}

export interface PendingRequestsOptions {
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** Gives the requests their ids. */
  readonly requestIds: RequestIds;
}

/** A map that has taken fewer requests is not worth another one. */
const leastAdded = 64;

export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #deadlines: DeadlineQueue<Pending>;
  #pending = new Map<number, Pending>();
  /** How many the map has taken. */
  #added = 0;
  #unexpected: UnexpectedResponses | undefined = undefined;
  /** The first numbers of those that a session had not served before it ended. */
  #returned: WeakMap<Pending, number> | undefined = undefined;

  /** @param onDue called with each that has no time left */
  constructor(options: PendingRequestsOptions, onDue: (pending: Pending) => void) {
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
    const returned = this.#returned;
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
    return this.#options.requestIds.read(id);
  }

  /** The pending request that an id belongs to. */
  find(id: unknown): Pending | undefined {
    const number = this.numberOf(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** The pending request that an id of the wrong type means. */
  findByText(id: unknown): Pending | undefined {
    const number = this.#options.requestIds.readText(id);
    return number === undefined ? undefined : this.#pending.get(number);
  }

  /** Gives it so much time from now on. @param now the clock's milliseconds */
  extend(pending: Pending, durationMs: number, now: number): void {
    this.#deadlines.add(pending, durationMs, now);
  }

  /** Takes the request out of the books that an answer with this id is for. */
  answered(id: unknown): Pending | undefined {
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
  returns(pending: Pending, frame: OutboundFrame): boolean {
    const returned = (this.#returned ??= new WeakMap());
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
