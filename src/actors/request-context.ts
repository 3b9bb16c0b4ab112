/**
 * What stands between a handler and the wire: one request from the peer, and everything that may
 * be done on its behalf. Contexts, middleware and features know nothing else of the wire. Over a legacy session
 * it is a `Call`; an era that asks its client in another way is another implementation.
 */
import type { AnyActorRef } from 'xstate';
import type { PeerDescription } from '../protocol/initialize.ts';
import type { LogLevel } from '../protocol/log-levels.ts';
import type {
  JsonObject,
  OutboundResponse,
  InboundRequestId,
  RelatedRequest,
} from '../protocol/frames.ts';
import type { RequestOrigin } from '../protocol/request-origin.ts';
import type { ProgressReport } from '../protocol/dialects/dialect.ts';
import type { RootsReport } from '../protocol/roots.ts';
import { addCallerFrames } from './caller-frames.ts';
import type { Clock } from './clock.ts';
import type { DeliveryEvent } from '../machines/peer-ports.ts';
import type { Recipient } from '../machines/port.ts';

/** Gets the fate of frames that were given to a writer. */
export type DeliveryRecipient = Recipient<DeliveryEvent>;

/** Who sends a request, and what it wants to hear meanwhile. */
export interface Caller {
  readonly peer: PeerDescription;
  /**
   * The least severe log messages that the peer wants for this request; undefined if it is told
   * by the session.
   */
  readonly logLevel?: LogLevel | 'none' | undefined;
}

/** A question to the peer. */
export interface OutboundRequest {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /**
   * Without an answer for this time, milliseconds, it fails with `REQUEST_TIMEOUT`; progress starts
   * the time anew.
   */
  readonly timeoutMs: number;
  /** The hard maximum, milliseconds, whatever progress comes. */
  readonly maxTotalMs: number;
  /** Asks for progress, and hears of it. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Its name among the questions of the call, if they have names. */
  readonly key?: string | undefined;
  /** Cancels the question, and tells the peer. */
  readonly signal?: AbortSignal | undefined;
  /**
   * What is wrong with an answer, for the client that gave it; undefined if nothing is. Called only
   * if the client can be told: in the era in which it brings its answers in a request.
   */
  readonly accepts?: ((answer: JsonObject) => Promise<string | undefined>) | undefined;
}

/** A task, as the handler sees it whose work it is. */
export interface TaskHandle {
  /** What clients ask for it by. */
  readonly taskId: string;
  /** Says for a person or a model how far it is: the client sees it when it looks at the task. */
  describe(message: string): void;
}

/** What the work of a task does beside waiting for what its {@link StepJournal} knows. */
export interface IdleProbe {
  /** True if it only waits. */
  isIdle(): boolean;
}

/** Where work stands that can go on in another process, for people. */
export interface DurableRunStatus {
  /** The step that was written last, such as `once:charge`, or `state asking` of a machine; absent before the first. */
  readonly lastStep?: string | undefined;
  /** What it has asked and has no answer to yet. */
  readonly questions: readonly string[];
  /** When the next of its timers is due, or the time for an answer is over, milliseconds from now; absent if nothing is. */
  readonly dueInMs?: number | undefined;
}

/**
 * What has happened in work that goes on in another process, and what it waits for. While it only waits, it may be
 * given up: its handler is run again when it goes on, and gets what was written here.
 */
export interface StepJournal {
  /** See {@link RequestContext.checkpoint}. */
  checkpoint: unknown;
  /** See {@link RequestContext.once}. What is made is written before it settles. */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /** Settles when the time is over, counted from the first time that the work has come to this place. */
  sleep(ms: number): Promise<void>;
  /** The time by which timers go, milliseconds since 1970. */
  now(): number;
  /** Calls back at this time. The work may be given up until then; then it is its own to set the timer again. */
  setTimer(callback: () => void, dueAt: number): unknown;
  clearTimer(timer: unknown): void;
  /** Asks whether the work does anything that the journal does not know of. By default it does not. */
  probe: IdleProbe | undefined;
  /** Looks whether the work can be given up: something that it did has ended. */
  suspendIfIdle(): void;
}

/** Work that an earlier request has begun, perhaps in another process. */
export interface ResumedRun {
  /** Who has sent that request. */
  readonly peer: PeerDescription;
}

/** Work that outlives the request that began it. */
export interface BackgroundRun {
  readonly taskId: string;
  /** Takes what the request would have been answered with. */
  onResponse(response: OutboundResponse): void;
  /**
   * The request that waits for what comes of it, if there is one: what the work has to ask goes on
   * that one's stream.
   */
  relatedRequest(): RelatedRequest | undefined;
  /** The handler says how far it is. */
  onStatusMessage(message: string): void;
  /** The handler asks the client something. Told before the question is sent. */
  onInputRequested(method: string): void;
  /** One of its questions has an outcome. */
  onInputReceived(): void;
  /**
   * How the work asks a client that is sent nothing on its behalf, neither questions nor progress:
   * it looks at the work.
   */
  readonly polled: {
    ask(question: OutboundRequest): Promise<JsonObject>;
    /** The work no longer waits for what it asked. */
    end(reason: string): void;
    roots(exchange: RequestContext): Promise<RootsReport>;
    /** How many questions have no answer yet. */
    readonly openQuestions: number;
  };
  /** Present if the work can go on in another process. */
  readonly durable?: DurableRun | undefined;
  /** Present if the request is not answered yet: the work is that of an ordinary call. */
  readonly call?: AwaitedCall | undefined;
}

/** Work of an ordinary call, whose host waits for the result, or comes back for it. */
export interface AwaitedCall {
  /** The request that waits; undefined while the host is away. */
  readonly hostRequest: CalledRequest | undefined;
  /** @param send sends a report to the host; the report may be a later one */
  reportProgress(report: ProgressReport, send: (report: ProgressReport) => void): void;
}

/** Work that can go on in another process. */
export interface DurableRun {
  readonly journal: StepJournal;
  /**
   * Asks the client, unless the answer is known.
   * @param send sends the question; without it, it waits in `polled`
   */
  request(
    question: OutboundRequest,
    send?: (question: OutboundRequest) => Promise<JsonObject>,
  ): Promise<JsonObject>;
  /** The session begins to end: the work is given up as soon as it only waits. */
  onSessionClosing(): void;
  /** The session has ended before that: others may go on with the work. */
  onSessionEnded(): void;
}

/** Ends work. See {@link RequestContext.detach}. */
export type CancelRun = (reason?: Error) => void;

/** Calls that ask their client by ending, and go on with a retry. See `src/rounds`. */
export interface SuspendableCallService {
  /** Runs a handler that may ask; what it gives is what the request is answered with. */
  serve(handler: RequestHandler, exchange: RequestContext): unknown;
  /** The calls that wait for a retry. */
  readonly waiting: Iterable<SuspendedCall>;
  /** True if no handler of a call that was suspended still runs. */
  readonly isIdle: boolean;
  /** Ends the calls that wait: no retry can come from now on. */
  close(reason: Error): void;
}

/** A call that waits for a retry, as a snapshot shows it. */
export interface SuspendedCall {
  /** Its last request. */
  readonly request: CalledRequest;
  readonly state: 'suspended';
  /** When its first request came, the clock's milliseconds. */
  readonly receivedAt: number;
  /** When it has asked its client, the clock's milliseconds. */
  readonly suspendedAt: number;
  /** What it has asked and has no answer to yet, for people. */
  readonly questions: readonly string[];
  readonly task: TaskHandle | undefined;
  readonly rootsAwaited: number;
  readonly machine: AnyActorRef | undefined;
}

/** A request from the peer whose handler runs, and who sent it. */
export interface CalledRequest extends Caller {
  /** The peer's id of the request. */
  readonly id: InboundRequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** How long its message was, in UTF-16 units. */
  readonly size: number;
  /** What the server keeps of the session that it came in. */
  readonly session: object | undefined;
  /** What is known of the request itself, if its transport answers each by itself. */
  readonly origin?: RequestOrigin | undefined;
}

export interface RequestContext {
  /** The open request, or the last one: a call that asks its client by ending goes on with another. */
  readonly request: CalledRequest;
  /** The task whose work this is; undefined if it is not the work of a task. */
  readonly task: TaskHandle | undefined;
  /** Aborted when the request is cancelled or the session ends. Made when first read. */
  readonly signal: AbortSignal;
  /** True once it is answered or cancelled: from then on nothing is asked or said on its behalf. */
  readonly hasEnded: boolean;
  /**
   * The handler's context, kept here by what makes it: one for everything that stands around a
   * handler.
   */
  context: object | undefined;
  /** What the handler wants to find here if it is run again, as JSON holds it. */
  checkpoint: unknown;
  /** The machine that the tool is, once it runs: for those who watch. */
  machine: AnyActorRef | undefined;
  /** What has happened in the work, if it can go on in another process. */
  readonly journal?: StepJournal | undefined;
  /**
   * Makes a value once for the call, however often its handler is run.
   *
   * @throws {TypeError} JSON cannot hold it
   */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /**
   * Asks the peer. What is asked in one turn goes to the peer together; what has no answer when
   * the request ends is cancelled.
   *
   * @throws {RuntimeError} CANCELLED if the request has ended already
   */
  sendRequest(question: OutboundRequest): Promise<JsonObject>;
  /**
   * Sends a notification that belongs to the request; nothing once it has ended.
   * @param reportTo gets `frame.rejected` if it cannot be sent
   */
  notify(method: string, params: JsonObject, reportTo?: DeliveryRecipient): void;
  /** Sends a notification that belongs to no request, be this one over or not. */
  announce(method: string, params: JsonObject): void;
  /**
   * The client's roots, once they are settled or `timeoutMs` has passed.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   */
  roots(wait: { readonly timeoutMs: number; readonly clock: Clock }): Promise<RootsReport>;
  /** Calls back when it ends, whichever way: for what must not outlive it, such as a timer. */
  whenEnded(callback: () => void): void;
  /**
   * Calls back when the session begins to end, if it has not ended by then: for a request that
   * lives as long as the session and has to be answered at its end.
   */
  whenClosing(callback: () => void): void;
  /** Whether the peer reads what it is sent. */
  readonly isWritable: boolean;
  /** Calls back once the peer reads: at once if it does. */
  whenWritable(callback: () => void): void;
  /**
   * Frees its place among those that may run at once: from now on its handler only waits for
   * others.
   */
  park(): void;
  /** True if the host sends the request again to the next process: it is not answered at the session's end. */
  isResendable?: boolean | undefined;
  /** Ends the request without an answer. Absent from calls in rounds, which end by asking. */
  drop?(): void;
  /**
   * Runs a handler that outlives this request, outside the caps and once the answers of this turn
   * are sent.
   * @returns what ends it: with a reason its signal fires; without one it is let go of, and nobody hears of what it
   *   comes to
   */
  detach(handler: RequestHandler, work: BackgroundRun): CancelRun;
}

/** How a call may go on that was ended with questions to its client. */
export interface Resumption {
  /**
   * False if the handler must not be run again: a call that is no longer kept is refused. True
   * by default.
   */
  readonly replay?: boolean | undefined;
  /** True if the same retry must not come twice. */
  readonly singleUse?: boolean | undefined;
}

/** Runs one request; what it gives is the response's `result`. */
export interface RequestHandler {
  (params: JsonObject | undefined, exchange: RequestContext): unknown;
  /** How a call with these params may go on after its client was asked. */
  readonly resumption?: (params: JsonObject | undefined) => Resumption;
  /**
   * Whether the handler's own results ask the client, so that a retry is the handler's too. By
   * default the exchange ends the call with what the handler asks.
   */
  readonly returnsInputRequired?: (exchange: RequestContext) => boolean | Promise<boolean>;
}

/** The handler of every method that has no other, `ping` excepted. */
export const anyMethod = '*';

/** A handler in place of another one: it is resumed as that is. */
export function wrapHandler(
  { resumption, returnsInputRequired }: RequestHandler,
  run: (params: JsonObject | undefined, exchange: RequestContext) => unknown,
): RequestHandler {
  return Object.assign(
    run,
    resumption ? { resumption } : {},
    returnsInputRequired ? { returnsInputRequired } : {},
  );
}

/** True for a promise of any kind. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * The promise of a question that is not asked. A caller that forgets it does not end the process.
 */
export function rejected(error: Error): Promise<never> {
  return ignoreUnhandled(Promise.reject(error));
}

/**
 * A promise that may fail without anybody listening: a caller that asks and does not wait has not
 * failed.
 */
export function ignoreUnhandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/**
 * A promise for a caller that may forget it: that does not end the process. What it fails with has
 * the frames of those who await it.
 */
export function withCallerStack<T>(promise: Promise<T>): Promise<T> {
  const given: Promise<T> = promise.catch((error: unknown) => {
    addCallerFrames(error);
    // Only now: V8 follows a promise as long as a single reaction waits for it.
    given.catch(() => {});
    throw error;
  });
  return given;
}

/** A connection to a database of SQL, as the package `pg` has it. */
export interface SqlConnection {
  /** @param values of `$1`, `$2` and so on */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    // oxlint-disable-next-line typescript/no-explicit-any -- what the columns hold, the author of the query knows
    readonly rows: any[];
    readonly rowCount: number | null;
  }>;
}

/** What `context.once` gives to what it calls. */
export interface OnceContext {
  /**
   * A connection inside the transaction that writes down that this has happened: both are written or
   * neither. Only in a task that is kept in Postgres.
   */
  readonly sql?: SqlConnection;
}

/** Makes a value that is made once. */
export type OnceFn<T> = (tools: OnceContext) => T | Promise<T>;

/**
 * What a handler makes once for its call, as JSON holds it: what it gets the first time is what it
 * would get if it were run again.
 *
 * @throws {TypeError} JSON cannot hold it
 */
export async function runOnce<T>(
  key: string,
  make: OnceFn<T>,
  tools: OnceContext = {},
): Promise<T> {
  const given = await make(tools);
  if (given === undefined) return given;
  const text = JSON.stringify(given) as string | undefined;
  if (text !== undefined) return JSON.parse(text) as T;
  throw new TypeError(`once("${key}", …) gave a ${typeof given}, which JSON cannot hold`);
}
