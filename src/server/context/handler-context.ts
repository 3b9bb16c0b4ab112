/** Handler context: the same API for every protocol revision and transport. */
import type { OnceFn, TaskHandle } from '../../actors/request-context.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import type { ProgressReport } from '../../protocol/dialects/dialect.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import type { PeerDescription } from '../../protocol/initialize.ts';
import type {
  ExchangedToken,
  Principal,
  ServedHttpCall,
  WantedToken,
} from '../../protocol/request-origin.ts';
import type { FormAnswer, UrlAnswer, UrlElicitationRequired, UrlRequest } from './elicitation.ts';
import type { Sample, SamplingRequest } from './sampling.ts';
import type { HandlerLog } from './session-log.ts';
import type { SessionView } from './session-view.ts';
import type { ContentOf, Form, FormSource } from '../../../packages/schema/src/forms/form.ts';
import type { ParsedBy, Schema } from '../../../packages/schema/src/schema.ts';

/** Options of a request to the client. */
export interface RequestOptions {
  /**
   * Time without an answer or progress after which the request fails with `REQUEST_TIMEOUT`,
   * milliseconds. Default: `humanTimeoutMs` for sampling and elicitation, else `requestTimeoutMs`.
   */
  readonly timeoutMs?: number;
  /** Maximum total time regardless of progress, milliseconds. Default: `requestMaxTotalMs`, or `timeoutMs` if that is longer. */
  readonly maxTotalMs?: number;
  /**
   * Key of the request within the call, visible to clients since 2026-07-28. Duplicates get a numeric
   * suffix. Default: `q1`, `q2`, ….
   */
  readonly key?: string;
  /** Cancels the request. Cancelling the call also cancels it. */
  readonly signal?: AbortSignal;
  /** Requests progress from the client and receives its reports. */
  readonly onProgress?: (progress: ProgressReport) => void;
  /** Allows `roots/list`, which otherwise only the session sends. For tests of a client. */
  readonly probe?: true;
}

/**
 * Second argument of every handler: the caller, requests to the client, and the abort signal. All
 * methods can be destructured.
 */
export interface HandlerContext {
  /** JSON-RPC id of the client's request. */
  readonly requestId: RequestId;
  /** Aborted when the client cancels the request or the session ends. */
  readonly signal: AbortSignal;
  /**
   * The task that runs this call, if the client called the tool as a task; see `taskSupport`.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks
   */
  readonly task?: TaskHandle | undefined;
  /** Self-description of the client, and its protocol dialect. */
  readonly client: PeerDescription;
  /**
   * True if the client can show apps (see `ui` of a tool). Otherwise consider a more readable text
   * result.
   *
   * @see MCP Apps 2026-01-26
   */
  readonly supportsApps: boolean;
  /**
   * Principal of the access token; undefined without authentication, such as over stdio. The token
   * itself is not exposed: use {@link exchangeToken} to call another server on behalf of the caller.
   *
   * @see MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
   */
  readonly principal?: Principal | undefined;
  /**
   * Exchanges the caller's access token for a token of another server (RFC 8693). The caller's token is
   * sent only to the authorization server of `tokenExchange`. Tokens are cached per principal and
   * request until they expire, and concurrent identical requests are merged.
   *
   * @throws {RuntimeError} UNAUTHORIZED: the caller is not authenticated, or the authorization server
   *   refused. CONFIG_INVALID: `tokenExchange` is not configured, or another node forwarded the request
   *   without its token. NOT_READY: the authorization server is unavailable; retry. INVALID_RESPONSE: its
   *   response is unusable
   * @throws {TypeError} if neither an audience nor a resource is named
   * @see RFC 8693; MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
   */
  exchangeToken(wanted: WantedToken): Promise<ExchangedToken>;
  /** The HTTP request without its credentials; undefined over other transports. */
  readonly http?: ServedHttpCall | undefined;
  /** Session of the request. */
  readonly session: SessionView;
  /**
   * Logs to the client: `log.info(data, logger?)`, likewise for all eight levels. Messages below the
   * client's level, beyond `maxLogsPerSecond`, or after the end of the call are dropped. Requires
   * `logging` in the server definition.
   *
   * @see MCP 2025-11-25, server/utilities/logging
   */
  readonly log: HandlerLog;
  /**
   * Returns the client's roots. Waits up to `timeoutMs` (default: `rootsTimeoutMs`) for a pending
   * `roots/list`, then returns the last known roots with `settled: false`. An unresponsive client does
   * not cause an error.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   * @throws {RangeError} if `timeoutMs` is negative or NaN
   * @see MCP 2025-11-25, client/roots
   */
  roots(options?: { readonly timeoutMs?: number }): Promise<RootsReport>;
  /**
   * Runs `make` once per call and returns its value. If the handler runs again, the stored value is
   * returned and `make` is not called. Use it for side effects that must not repeat, such as an order.
   *
   * Since 2026-07-28 a call that needs input ends with its questions, and the handler continues when
   * the client retries with the answers. If the retry arrives late or at another process, the handler
   * runs again from its start.
   *
   * In a task stored in Postgres, `make` receives `{ sql }`, a connection inside the transaction that
   * stores the value. Writes through it happen exactly once, even after a crash.
   *
   * @param key unique name of the value within the call
   * @throws {TypeError} if JSON cannot represent the value. Errors of `make` are rethrown
   */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /**
   * Waits. In a durable task the deadline survives the process. During a long sleep the task is unloaded from memory,
   * and the handler runs again at the deadline.
   *
   * @param ms milliseconds
   * @throws {RangeError} if `ms` is negative or NaN
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED if the call ends first
   */
  sleep(ms: number): Promise<void>;
  /**
   * JSON value that the handler can read if it runs again. Setting it discards the recorded answers, so
   * the handler must continue from the checkpoint and ask only new questions.
   *
   * @throws {TypeError} if JSON cannot round-trip the value, such as a `Date`, a `Map` or an undefined
   *   member; the message names the path
   */
  checkpoint: unknown;
  /**
   * Reports progress if the client requested it. At most ten reports per second are sent: the latest
   * one of each interval, and immediately the final one (`progress` reaches `total`). Reports that do
   * not increase, or follow the end of the call, are dropped.
   *
   * @see MCP 2025-11-25, basic/utilities/progress
   */
  progress(
    progress: number,
    details?: { readonly total?: number; readonly message?: string },
  ): void;
  /**
   * Sends a notification related to this request, such as one of an extension. Use `progress` and
   * `log` for those notifications, and `session.notify` for unrelated ones.
   *
   * @returns true if the notification was queued; false after the end of the call
   * @throws {RuntimeError} UNSERIALIZABLE
   * @throws {TypeError} if the method is empty or `notifications/cancelled`
   */
  notify(method: string, params?: JsonObject): boolean;
  /**
   * Asks the client's language model to continue a conversation. The user may review, change or refuse
   * the request (REQUEST_FAILED, code -1 in `remote`). Default timeout: `humanTimeoutMs`.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING (nothing is sent) if the client did not declare
   *   `sampling`, or `sampling.tools` or `sampling.context` if the request needs them;
   *   INVALID_RESPONSE; and the errors of {@link HandlerContext.request}
   * @throws {TypeError} if the protocol does not allow the conversation
   * @see MCP 2025-11-25, client/sampling
   */
  sample(request: SamplingRequest, options?: RequestOptions): Promise<Sample>;
  /**
   * Asks the user to fill in a form. Forms must not ask for secrets: use
   * {@link HandlerContext.elicitUrl} instead.
   *
   * @param request `schema` is a form from `defineForm`, or a schema to convert to a form
   * @returns the validated content, or that the user declined or cancelled
   * @throws {RuntimeError} CAPABILITY_MISSING (nothing is sent) if the client does not support forms, or
   *   its revision lacks a field type; INVALID_RESPONSE if the content does not conform; and the errors
   *   of {@link HandlerContext.request}
   * @throws {TypeError} naming the property that the protocol does not allow in a form
   * @see MCP 2025-11-25, client/elicitation, "Form Mode Elicitation Requests"
   */
  elicit<const TSchema extends FormSource | Form<unknown>>(
    request: { readonly message: string; readonly schema: TSchema },
    options?: RequestOptions,
  ): Promise<FormAnswer<ContentOf<TSchema>>>;
  /**
   * Asks the user to open a URL. `accept` is only consent: call
   * `session.elicitationCompleted(elicitationId)` when the user has finished.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING (nothing is sent) if the client did not declare
   *   `elicitation.url`; and the errors of {@link HandlerContext.request}
   * @throws {TypeError} if the URL is not absolute or contains credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
   */
  elicitUrl(request: UrlRequest, options?: RequestOptions): Promise<UrlAnswer>;
  /**
   * Creates the error for a request that cannot be served until the user has opened some URLs:
   * `throw context.urlElicitationRequired([…])`. The client receives the URLs with code `-32042` and
   * may retry.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare `elicitation.url`
   * @throws {TypeError} if the list is empty, or a URL is not absolute or contains credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
   */
  urlElicitationRequired(requests: readonly UrlRequest[], message?: string): UrlElicitationRequired;
  /**
   * Sends a request to the client and returns its result.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING (nothing is sent) if the client did not declare the
   *   method's capability; REQUEST_TIMEOUT, REQUEST_FAILED (the client's error is in `remote`),
   *   CANCELLED, REMOTE_CANCELLED, LIMIT_EXCEEDED, TRANSPORT_CLOSED
   * @throws {TypeError} if the method is `roots/list` without `probe`: use {@link HandlerContext.roots}
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /**
   * Sends a request to the client and returns its validated result.
   *
   * @throws {RuntimeError} INVALID_RESPONSE if the result does not conform to the schema; and the errors
   *   of the other overload
   */
  request<const TSchema extends Schema>(
    method: string,
    params: JsonObject | undefined,
    schema: TSchema,
    options?: RequestOptions,
  ): Promise<ParsedBy<TSchema>>;
}
