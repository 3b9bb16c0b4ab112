/** What a handler sees of its session. It does not know the revision or the transport that it serves. */
import type { RootsReport } from '../machines/roots.machine.ts';
import type { ProgressReport } from '../machines/session-ports.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';

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
  /** The client's self-description and the negotiated revision. */
  readonly client: ClientDescription;
  /**
   * The client's roots as they are settled. Waits while they are being asked for, at most `timeoutMs` (by default the roots
   * timeout), then gives what is known, with `settled: false`. Never fails because a client is silent.
   *
   * @throws {RuntimeError} CANCELLED, TRANSPORT_CLOSED
   */
  roots(options?: { readonly timeoutMs?: number }): Promise<RootsReport>;
  /**
   * Reports progress, if the client asked for it. Values that do not increase are dropped, and so is what comes faster than ten a second
   * or after the call has ended.
   *
   * @see MCP 2025-11-25, basic/utilities/progress
   */
  progress(
    progress: number,
    details?: { readonly total?: number; readonly message?: string },
  ): void;
  /**
   * Sends a request to the client and gives its result.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING before anything is sent where the client did not declare the method's capability;
   *   REQUEST_TIMEOUT, REQUEST_FAILED (with the client's error in `remote`), CANCELLED, REMOTE_CANCELLED, LIMIT_EXCEEDED, TRANSPORT_CLOSED
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>;
}
