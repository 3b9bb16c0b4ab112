/** What a handler gets. It need not know the revision or the transport that it serves. */
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

/** How long a question to the client may take, and what it reports meanwhile. */
export interface RequestOptions {
  /**
   * The request fails with `REQUEST_TIMEOUT` after this time without an answer, milliseconds.
   * Progress restarts the time.
   */
  readonly timeoutMs?: number;
  /** The most that the request may take in all, milliseconds, even if progress comes. */
  readonly maxTotalMs?: number;
  /**
   * The request's name, unique within the call: since 2026-07-28 the client sees it. By default
   * `q1`, `q2` and so on. A number is added to a name that is taken.
   */
  readonly key?: string;
  /** Cancels only this request. Cancelling the call cancels it in any case. */
  readonly signal?: AbortSignal;
  /** Called with the client's progress. If given, the client is asked for progress. */
  readonly onProgress?: (progress: ProgressReport) => void;
  /**
   * The request tries out the client: `roots/list` is sent too, which is refused otherwise because
   * the session asks for the roots itself.
   */
  readonly probe?: true;
}

/**
 * What a handler gets beside its arguments: who calls, what it may ask the client, and when to
 * stop.
 */
export interface HandlerContext {
  /** The id of the client's request. */
  readonly requestId: RequestId;
  /** Aborted when the client cancels the request or the session ends. Created when first read. */
  readonly signal: AbortSignal;
  /**
   * The task that this call works on, if the client called the tool as a task; see `taskSupport`.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks
   */
  readonly task?: TaskHandle | undefined;
  /** How the client describes itself, and the dialect of the protocol that it speaks. */
  readonly client: PeerDescription;
  /**
   * True if the client of this call shows apps (see `ui` of a tool). If it does not, a result may
   * be easier to read as text.
   *
   * @see MCP Apps 2026-01-26
   */
  readonly supportsApps: boolean;
  /**
   * Who calls, as the access token of the HTTP request says; undefined without authentication, as
   * over stdio. The token is not in it: a server that calls another one on behalf of its caller gets
   * a token of its own for that.
   *
   * @see MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
   */
  readonly principal?: Principal | undefined;
  /**
   * Exchanges the access token of the caller for one of another server, on behalf of the caller. The
   * caller's own token is sent to the authorization server of `tokenExchange` alone, and is not
   * shown. Tokens are kept until they expire, for each principal and what is wanted; calls that want the
   * same at once share one request.
   *
   * @throws {RuntimeError} UNAUTHORIZED: the client is not authenticated, as over stdio, or the
   *   authorization server says no. CONFIG_INVALID: the server has no `tokenExchange`, or another node
   *   has handed the request on, without its token. NOT_READY: the authorization server cannot be
   *   asked now; try again. INVALID_RESPONSE: what it gives cannot be used
   * @throws {TypeError} it is not said for which server
   * @see RFC 8693; MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
   */
  exchangeToken(wanted: WantedToken): Promise<ExchangedToken>;
  /**
   * The HTTP request that carried the client's request; undefined over another transport.
   * Credentials are left out.
   */
  readonly http?: ServedHttpCall | undefined;
  /** The session that the request belongs to. */
  readonly session: SessionView;
  /**
   * Logs to the client: `log.info(data, logger?)`, and so on for the eight levels. It sends nothing
   * below the level that the client wants, nothing above the limit per second (`maxLogsPerSecond`),
   * and nothing after the call has ended. The server must be defined with `logging`.
   *
   * @see MCP 2025-11-25, server/utilities/logging
   */
  readonly log: HandlerLog;
  /**
   * The client's roots. While the client is being asked for them, this waits at most `timeoutMs`
   * (by default `rootsTimeoutMs`); then it gives what is known, with `settled: false`. A silent
   * client never makes it fail.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   * @throws {RangeError} `timeoutMs` is negative or NaN
   */
  roots(options?: { readonly timeoutMs?: number }): Promise<RootsReport>;
  /**
   * Makes a value once per call: if the handler is run again, it gets the same value back (as JSON)
   * and `make` is not called. Use it for anything that must not happen twice, such as an order.
   *
   * Since 2026-07-28 a call that asks its client ends with the question. When the client calls
   * again with the answer, the handler continues where it stopped. If the retry comes too late, or
   * to another process, the handler is run again from its start.
   *
   * In a task that is kept in Postgres `make` gets `{ sql }`, a connection inside the transaction that
   * writes down what was made: what it writes there happens once, whatever dies.
   *
   * @param key tells the values of a call apart
   * @throws {TypeError} JSON cannot hold the value; and what `make` throws
   */
  once<T>(key: string, make: OnceFn<T>): Promise<T>;
  /**
   * Waits. In a task that can go on after its process it is over when it would have been over without the end of
   * the process; while it is long, nothing of the handler is kept in memory, and the handler is run again then.
   *
   * @param ms milliseconds
   * @throws {RangeError} `ms` is negative or NaN
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED: the call has ended
   */
  sleep(ms: number): Promise<void>;
  /**
   * A value that the handler finds here if it is run again, as JSON. Setting it replaces the
   * answers so far: the handler then asks only what it has not asked before.
   *
   * @throws {TypeError} if it is set to something that JSON cannot round-trip, such as a `Date`, a
   *   `Map` or a member that is undefined: the message names the path
   */
  checkpoint: unknown;
  /**
   * Reports progress, if the client asked for it. Values that do not increase are dropped, and so
   * are reports after the call has ended. At most ten a second are sent: of those that come faster,
   * the latest is sent at the end of the interval. The last one (`progress` reaches `total`) is
   * sent at once.
   *
   * @see MCP 2025-11-25, basic/utilities/progress
   */
  progress(
    progress: number,
    details?: { readonly total?: number; readonly message?: string },
  ): void;
  /**
   * Sends the client a notification that belongs to this request, such as one of an extension. Use
   * `progress` and `log` for those two. Use `session.notify` for a notification that belongs to no
   * request.
   *
   * @returns whether the output has taken it; nothing is sent after the call has ended
   * @throws {RuntimeError} UNSERIALIZABLE
   * @throws {TypeError} the method is not a valid name, or is `notifications/cancelled`
   */
  notify(method: string, params?: JsonObject): boolean;
  /**
   * Asks the client's language model to continue a conversation. A person may review it, change it
   * or refuse it (REQUEST_FAILED, with code -1 in `remote`), so by default it may take
   * `humanTimeoutMs`.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare `sampling`, or not the
   *   `sampling.tools` or `sampling.context` that the request needs; nothing is sent then.
   *   INVALID_RESPONSE; and the errors of {@link HandlerContext.request}
   * @throws {TypeError} the protocol does not allow this conversation
   * @see MCP 2025-11-25, client/sampling
   */
  sample(request: SamplingRequest, options?: RequestOptions): Promise<Sample>;
  /**
   * Asks a person to fill in a form. A form must not ask for secrets: use
   * {@link HandlerContext.elicitUrl} for those.
   *
   * @param request `schema` is a form from `defineForm`, or a schema to make one from
   * @returns the content, which conforms to the form, or that the person declined or cancelled
   * @throws {RuntimeError} CAPABILITY_MISSING if the client does not support forms, or its revision
   *   does not have a field of this one; nothing is sent then. INVALID_RESPONSE if the content does
   *   not conform; and the errors of {@link HandlerContext.request}
   * @throws {TypeError} naming the property that the protocol does not allow in a form
   * @see MCP 2025-11-25, client/elicitation, "Form Mode Elicitation Requests"
   */
  elicit<const TSchema extends FormSource | Form<unknown>>(
    request: { readonly message: string; readonly schema: TSchema },
    options?: RequestOptions,
  ): Promise<FormAnswer<ContentOf<TSchema>>>;
  /**
   * Asks a person to open a URL. `accept` says that they agreed, not that they are done. Once they
   * are, call `session.elicitationCompleted(elicitationId)`.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare `elicitation.url`;
   *   nothing is sent then. And the errors of {@link HandlerContext.request}
   * @throws {TypeError} the URL is not absolute, or contains credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
   */
  elicitUrl(request: UrlRequest, options?: RequestOptions): Promise<UrlAnswer>;
  /**
   * Makes the error to throw if a person must open some URLs before the request can be served:
   * `throw context.urlElicitationRequired([…])`. The client gets them with `-32042`, and may try
   * again.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare `elicitation.url`
   * @throws {TypeError} the list is empty, or a URL is not absolute or contains credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
   */
  urlElicitationRequired(requests: readonly UrlRequest[], message?: string): UrlElicitationRequired;
  /**
   * Sends a request to the client and gives its result.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING if the client did not declare the method's
   *   capability; nothing is sent then. REQUEST_TIMEOUT, REQUEST_FAILED (with the client's error in
   *   `remote`), CANCELLED, REMOTE_CANCELLED, LIMIT_EXCEEDED, TRANSPORT_CLOSED
   * @throws {TypeError} the method is `roots/list`, without `probe`: the session asks for the roots
   *   itself, and {@link HandlerContext.roots} has them
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /**
   * Sends a request to the client, checks its result with the schema, and gives it.
   *
   * @throws {RuntimeError} INVALID_RESPONSE if the result does not conform; and the errors of the
   *   other overload
   */
  request<const TSchema extends Schema>(
    method: string,
    params: JsonObject | undefined,
    schema: TSchema,
    options?: RequestOptions,
  ): Promise<ParsedBy<TSchema>>;
}
