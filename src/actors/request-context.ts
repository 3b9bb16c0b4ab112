/**
 * The interface between a handler and the wire: one request from the peer, and everything a handler
 * may do on its behalf. Handler contexts, middleware and features use nothing else of the wire. In
 * a legacy session the implementation is `Call`; clients that answer by retrying get
 * `SuspendableCall`.
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

/** Receives delivery reports for frames. */
export type DeliveryRecipient = Recipient<DeliveryEvent>;

/** The sender of a request. */
export interface Caller {
  readonly peer: PeerDescription;
  /** Minimum severity of log messages for this request. Undefined: the session's level applies. */
  readonly logLevel?: LogLevel | 'none' | undefined;
}

/** A request to the peer. */
export interface OutboundRequest {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  /** Time limit in milliseconds, restarted by progress. Error: `REQUEST_TIMEOUT`. */
  readonly timeoutMs: number;
  /** Hard limit in milliseconds, regardless of progress. */
  readonly maxTotalMs: number;
  /** Called with each progress notification. If set, the request asks for progress. */
  readonly onProgress?: ((progress: ProgressReport) => void) | undefined;
  /** Preferred key among the `inputRequests` of the call, if they have keys. */
  readonly key?: string | undefined;
  /** Cancels the request and notifies the peer. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Validates an answer: a problem to report to the client, or undefined if valid. Called only in
   * the era in which clients send their answers in a request.
   */
  readonly accepts?: ((answer: JsonObject) => Promise<string | undefined>) | undefined;
}

/** A handler's view of its task. */
export interface TaskHandle {
  /** Id by which clients poll the task. */
  readonly taskId: string;
  /** Sets the task's `statusMessage`, for a person or a model. */
  describe(message: string): void;
}

/** Reports activity of a durable run that its {@link StepJournal} does not know about. */
export interface IdleProbe {
  /** True if the run has nothing to do but wait. */
  isIdle(): boolean;
}

/** Status of a durable run, for people. */
export interface DurableRunStatus {
  /** The last recorded step, such as `once:charge`. Absent before the first. */
  readonly lastStep?: string | undefined;
  /** Labels of the unanswered requests to the client. */
  readonly questions: readonly string[];
  /** Time to the next timer or answer deadline, milliseconds. Absent if there is none. */
  readonly dueInMs?: number | undefined;
}

/**
 * The recorded steps of a durable run. While the run only waits it may be unloaded from memory; to
 * resume, its handler runs again and gets the recorded results.
 */
export interface StepJournal {
  /** See {@link RequestContext.checkpoint}. */
  checkpoint: unknown;
  /** See {@link RequestContext.once}. The value is recorded before the promise settles. */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /** Resolves after `ms` milliseconds, counted from the first time the run reached this point. */
  sleep(ms: number): Promise<void>;
  /** Current time of the timers, milliseconds since 1970. */
  now(): number;
  /**
   * Calls back at `dueAt`. The run may be unloaded until then; after resuming, it must set the
   * timer again.
   */
  setTimer(callback: () => void, dueAt: number): unknown;
  clearTimer(timer: unknown): void;
  /** Reports activity that the journal does not know about. Default: none. */
  probe: IdleProbe | undefined;
  /** Unloads the run if it now only waits. Called when some activity has ended. */
  suspendIfIdle(): void;
}

/** A run started by an earlier request, possibly in another process. */
export interface ResumedRun {
  /** The sender of that request. */
  readonly peer: PeerDescription;
}

/** A handler's run that outlives the request that started it. */
export interface BackgroundRun {
  readonly taskId: string;
  /** Takes the response of the handler. */
  onResponse(response: OutboundResponse): void;
  /** The request waiting for the result, if any. Its stream carries this run's requests. */
  relatedRequest(): RelatedRequest | undefined;
  /** The handler has set a status message. */
  onStatusMessage(message: string): void;
  /** The handler sends a request to the client. Called before it is sent. */
  onInputRequested(method: string): void;
  /** A request to the client has settled. */
  onInputReceived(): void;
  /**
   * For clients that poll: requests wait here until the client polls the task, since nothing can be
   * sent to it.
   */
  readonly polled: {
    ask(question: OutboundRequest): Promise<JsonObject>;
    /** Withdraws the pending requests. */
    end(reason: string): void;
    roots(exchange: RequestContext): Promise<RootsReport>;
    /** Number of unanswered requests. */
    readonly openQuestions: number;
  };
  /** Present if the run can resume in another process. */
  readonly durable?: DurableRun | undefined;
  /** Present for an ordinary call, whose request is still unanswered. */
  readonly call?: AwaitedCall | undefined;
}

/** A durable run behind an ordinary call: its host waits for the result or returns for it. */
export interface AwaitedCall {
  /** The waiting request; undefined while the host is away. */
  readonly hostRequest: CalledRequest | undefined;
  /** @param send sends a report to the host, possibly a later one than `report` */
  reportProgress(report: ProgressReport, send: (report: ProgressReport) => void): void;
}

/** A run that can resume in another process. */
export interface DurableRun {
  readonly journal: StepJournal;
  /**
   * Sends a request to the client unless its answer is already recorded.
   * @param send sends the request; if omitted, it waits in `polled`
   */
  request(
    question: OutboundRequest,
    send?: (question: OutboundRequest) => Promise<JsonObject>,
  ): Promise<JsonObject>;
  /** The session is closing: unload the run as soon as it only waits. */
  onSessionClosing(): void;
  /** The session has ended while the run was active: another process may resume it. */
  onSessionEnded(): void;
}

/** Cancels a run. See {@link RequestContext.detach}. */
export type CancelRun = (reason?: Error) => void;

/** Runs calls that request input by ending and resume with the client's retry. See `src/rounds`. */
export interface SuspendableCallService {
  /** Runs a handler that may request input, and returns the result of the request. */
  serve(handler: RequestHandler, exchange: RequestContext): unknown;
  /** Calls awaiting a retry. */
  readonly waiting: Iterable<SuspendedCall>;
  /** True if no handler of a suspended call is still running. */
  readonly isIdle: boolean;
  /** Ends the waiting calls, because no retry can arrive any more. */
  close(reason: Error): void;
}

/** A call awaiting its client's retry, as snapshots show it. */
export interface SuspendedCall {
  /** The latest request of the call. */
  readonly request: CalledRequest;
  readonly state: 'suspended';
  /** Arrival of the first request, clock ms. */
  readonly receivedAt: number;
  /** Start of the wait, clock ms. */
  readonly suspendedAt: number;
  /** Labels of the unanswered requests, for people. */
  readonly questions: readonly string[];
  readonly task: TaskHandle | undefined;
  readonly rootsAwaited: number;
  readonly machine: AnyActorRef | undefined;
}

/** A request from the peer, with its sender. */
export interface CalledRequest extends Caller {
  /** The request id that the peer chose. */
  readonly id: InboundRequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Length of the message, UTF-16 units. */
  readonly size: number;
  /** The server's record of the session that received the request. */
  readonly session: object | undefined;
  /** Origin of the request, if its transport answers each request separately. */
  readonly origin?: RequestOrigin | undefined;
}

export interface RequestContext {
  /** The open request, or the last one: a suspended call resumes with another request. */
  readonly request: CalledRequest;
  /** The task of this run; undefined for an ordinary call. */
  readonly task: TaskHandle | undefined;
  /** Fires when the request is cancelled or the session ends. Created on first access. */
  readonly signal: AbortSignal;
  /** True once the request is answered or cancelled. Nothing is sent on its behalf afterwards. */
  readonly hasEnded: boolean;
  /** The handler's context, stored here so that all layers around a handler share one. */
  context: object | undefined;
  /** State that the handler finds here if it runs again, as JSON. */
  checkpoint: unknown;
  /** The running machine of a machine tool, for observers. */
  machine: AnyActorRef | undefined;
  /** The recorded steps, if the run is durable. */
  readonly journal?: StepJournal | undefined;
  /**
   * Computes a value once per call, however often its handler runs.
   *
   * @throws {TypeError} the value is not JSON
   */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /**
   * Sends a request to the peer. Requests of the same turn are sent together; unanswered ones are
   * cancelled when this request ends.
   *
   * @throws {RuntimeError} CANCELLED if this request has already ended
   */
  sendRequest(question: OutboundRequest): Promise<JsonObject>;
  /**
   * Sends a notification related to the request. Ignored once the request has ended.
   * @param reportTo gets `frame.rejected` if the notification cannot be sent
   */
  notify(method: string, params: JsonObject, reportTo?: DeliveryRecipient): void;
  /** Sends a notification that is unrelated to any request. Allowed after the request has ended. */
  announce(method: string, params: JsonObject): void;
  /**
   * The client's roots, once settled or after `timeoutMs`.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   */
  roots(wait: { readonly timeoutMs: number; readonly clock: Clock }): Promise<RootsReport>;
  /** Calls back when the request ends for any reason. Use it to clean up, for example timers. */
  whenEnded(callback: () => void): void;
  /**
   * Calls back when the session starts closing, unless the request has ended by then. For requests
   * that live as long as the session and need an answer at its end.
   */
  whenClosing(callback: () => void): void;
  /** True if the peer is reading its output. */
  readonly isWritable: boolean;
  /** Calls back once the peer is reading: immediately if it already is. */
  whenWritable(callback: () => void): void;
  /** Frees the request's concurrency slot: from now on its handler only waits for others. */
  park(): void;
  /**
   * True if the host resends the request to the next process, so that it needs no answer when the
   * session ends.
   */
  isResendable?: boolean | undefined;
  /** Ends the request without an answer. Absent for suspendable calls. */
  drop?(): void;
  /**
   * Runs a handler that outlives this request. It counts towards no concurrency limit, and starts
   * after this turn's answers are sent.
   *
   * @returns cancels the run. With a reason its signal fires; without one its outcome is discarded.
   */
  detach(handler: RequestHandler, work: BackgroundRun): CancelRun;
}

/** Rules for resuming a call that requested input. */
export interface Resumption {
  /**
   * False if the handler must not run twice: a retry is refused once the call is no longer in
   * memory. Default: true.
   */
  readonly replay?: boolean | undefined;
  /** True to refuse a second retry with the same state. */
  readonly singleUse?: boolean | undefined;
}

/** Handles one request and returns the `result` of its response. */
export interface RequestHandler {
  (params: JsonObject | undefined, exchange: RequestContext): unknown;
  /** Resumption rules of a call with these params. */
  readonly resumption?: (params: JsonObject | undefined) => Resumption;
  /**
   * True if the handler itself returns `input_required` results and handles the retries. Default:
   * the runtime ends the call with the handler's requests.
   */
  readonly returnsInputRequired?: (exchange: RequestContext) => boolean | Promise<boolean>;
}

/** Key of the fallback handler: methods without a handler of their own, except `ping`. */
export const anyMethod = '*';

/** Wraps a handler, keeping its resumption rules. */
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

/** True for any object with a `then` method. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/** A rejected promise that does not end the process if the caller ignores it. */
export function rejected(error: Error): Promise<never> {
  return ignoreUnhandled(Promise.reject(error));
}

/** Marks rejections as handled, for callers that may not await the promise. */
export function ignoreUnhandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Marks rejections as handled, and adds the awaiting callers' frames to the error's stack. */
export function withCallerStack<T>(promise: Promise<T>): Promise<T> {
  const given: Promise<T> = promise.catch((error: unknown) => {
    addCallerFrames(error);
    // V8 traces async callers only while the promise has a single reaction, so this one comes last.
    given.catch(() => {});
    throw error;
  });
  return given;
}

/** A SQL connection with the interface of the `pg` package. */
export interface SqlConnection {
  /** @param values for `$1`, `$2` and so on */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    // oxlint-disable-next-line typescript/no-explicit-any -- the author of the query knows the columns' types
    readonly rows: any[];
    readonly rowCount: number | null;
  }>;
}

/** Argument of the functions passed to `context.once`. */
export interface OnceContext {
  /**
   * A connection in the transaction that records this step: your statements and the record are
   * committed together. Only for tasks stored in Postgres.
   */
  readonly sql?: SqlConnection;
}

/** Computes a value for `context.once`. */
export type OnceFn<T> = (tools: OnceContext) => T | Promise<T>;

/**
 * Calls `make` and returns its value after a round trip through JSON, so that the first run gets
 * the same value as later ones.
 *
 * @throws {TypeError} the value is not JSON
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
  throw new TypeError(`once("${key}", …) must return JSON, got a ${typeof given}`);
}
