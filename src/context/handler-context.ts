/** What a handler sees of its session. It does not know the revision or the transport that it serves. */
import type { TaskHandle } from '../actors/exchange.ts';
import type { RootsReport } from '../machines/roots-report.ts';
import type { ProgressReport } from '../protocol/dialects/dialect.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import type { FormAnswer, UrlAnswer, UrlElicitationRequired, UrlRequest } from './elicitation.ts';
import type { Sample, SamplingRequest } from './sampling.ts';
import type { HandlerLog } from './session-log.ts';
import type { SessionView } from './session-view.ts';
import type { ContentOf, Form, FormSource } from '../schema/forms/form.ts';
import type { ParsedBy, Schema } from '../schema/schema.ts';

export interface RequestOptions {
  /** Without an answer for so long, milliseconds, the request fails with `REQUEST_TIMEOUT`; progress starts the time anew. */
  readonly timeoutMs?: number;
  /** The hard maximum, milliseconds. */
  readonly maxTotalMs?: number;
  /** Cancels this request alone. Cancelling the call cancels it in any case. */
  readonly signal?: AbortSignal;
  /** Asks the client for progress. */
  readonly onProgress?: (progress: ProgressReport) => void;
}

export interface HandlerContext {
  /** The id of the client's request. */
  readonly requestId: RequestId;
  /** Aborted when the client cancels the request or the session ends. Made when first read. */
  readonly signal: AbortSignal;
  /**
   * The task that this call is the work of, where the client has called the tool as one; see `taskSupport`.
   *
   * @see MCP 2025-11-25, basic/utilities/tasks
   */
  readonly task?: TaskHandle | undefined;
  /** The client's self-description, and the dialect of the protocol that it speaks. */
  readonly client: ClientDescription;
  /** The session that the request came in. */
  readonly session: SessionView;
  /**
   * The client's log: `log.info(data, logger?)` and so on for the eight levels. Messages below the level that the client wants are not sent, nor
   * are more than so many a second, nor anything once the call has ended. The server must be defined with `logging`.
   *
   * @see MCP 2025-11-25, server/utilities/logging
   */
  readonly log: HandlerLog;
  /**
   * The client's roots as they are settled. Waits while they are being asked for, at most `timeoutMs` (by default the roots
   * timeout), then gives what is known, with `settled: false`. Never fails because a client is silent.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   */
  roots(options?: { readonly timeoutMs?: number }): Promise<RootsReport>;
  /**
   * Reports progress, if the client asked for it. Values that do not increase are dropped, and so is what comes after the call has ended. Of what
   * comes faster than ten a second the latest is told when its interval is over; the end (`progress` reaches `total`) is told at once.
   *
   * @see MCP 2025-11-25, basic/utilities/progress
   */
  progress(
    progress: number,
    details?: { readonly total?: number; readonly message?: string },
  ): void;
  /**
   * Asks the client's language model to go on with a conversation. A person may see it, change it, and refuse it (REQUEST_FAILED, with code -1 in
   * `remote`), so it has the time of what a person answers.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING before anything is sent where the client did not declare `sampling`, or `sampling.tools` or
   *   `sampling.context` where they are needed; INVALID_RESPONSE; those of {@link HandlerContext.request}
   * @throws {TypeError} a conversation that no client may be sent
   * @see MCP 2025-11-25, client/sampling
   */
  sample(request: SamplingRequest, options?: RequestOptions): Promise<Sample>;
  /**
   * Asks a person to fill in a form. It must not ask for secrets: those go by {@link HandlerContext.elicitUrl}.
   *
   * @param request `schema` is a form made by `defineForm`, or what one is made of
   * @returns the content, once it conforms to the form, or that the person declined or cancelled
   * @throws {RuntimeError} CAPABILITY_MISSING before anything is sent where the client has no forms, or its revision not what this one needs;
   *   INVALID_RESPONSE where what was accepted does not conform; those of {@link HandlerContext.request}
   * @throws {TypeError} a schema that is no form, naming the property
   * @see MCP 2025-11-25, client/elicitation, "Form Mode Elicitation Requests"
   */
  elicit<const TSchema extends FormSource | Form<unknown>>(
    request: { readonly message: string; readonly schema: TSchema },
    options?: RequestOptions,
  ): Promise<FormAnswer<ContentOf<TSchema>>>;
  /**
   * Asks a person to open a URL. `accept` says that they agreed to, not that they are done; once they are, call
   * `session.elicitationCompleted(elicitationId)`.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING before anything is sent where the client did not declare `elicitation.url`;
   *   those of {@link HandlerContext.request}
   * @throws {TypeError} what is no URL, or holds credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Mode Elicitation Requests"
   */
  elicitUrl(request: UrlRequest, options?: RequestOptions): Promise<UrlAnswer>;
  /**
   * The error to throw where the request cannot be served until a person has opened some URLs: `throw context.urlElicitationRequired([…])`.
   * The client gets `-32042` with them, and may try again.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING where the client did not declare `elicitation.url`
   * @throws {TypeError} no URL at all, or one that is none or holds credentials
   * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
   */
  urlElicitationRequired(requests: readonly UrlRequest[], message?: string): UrlElicitationRequired;
  /**
   * Sends a request to the client and gives its result.
   *
   *
   * @throws {RuntimeError} CAPABILITY_MISSING before anything is sent where the client did not declare the method's capability;
   *   REQUEST_TIMEOUT, REQUEST_FAILED (with the client's error in `remote`), CANCELLED, REMOTE_CANCELLED, LIMIT_EXCEEDED, TRANSPORT_CLOSED
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
  /**
   * Sends a request to the client and gives its result, once it has passed the schema.
   *
   * @throws {RuntimeError} INVALID_RESPONSE where it has not; those of the other form
   */
  request<const TSchema extends Schema>(
    method: string,
    params: JsonObject | undefined,
    schema: TSchema,
    options?: RequestOptions,
  ): Promise<ParsedBy<TSchema>>;
}
