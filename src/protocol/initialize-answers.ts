/**
 * Answers to `initialize`.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { inspectValue } from './classify.ts';
import { unsupportedVersion } from './envelope.ts';
import { ErrorCode, errorResponse, shuttingDown } from './errors.ts';
import type { InboundRequestId, OutboundResponse, WireError } from './frames.ts';
import type { ServerDescription } from './implementation.ts';
import type { InitializeReading, PeerDescription } from './initialize.ts';

/** The result, in the negotiated dialect. */
export function acceptedInitialize(
  id: InboundRequestId,
  { dialect }: PeerDescription,
  server: ServerDescription,
): OutboundResponse {
  return { jsonrpc: '2.0', id, result: dialect.initializeResult(server) };
}

/** Session state that decides how to refuse `initialize`. */
interface SessionStatus {
  /** Set once the session is closing. */
  readonly cause: object | undefined;
  /** Set once the session is initialized. */
  readonly client: PeerDescription | undefined;
}

/** The error for a refused `initialize`. */
export function refusedInitialize(
  id: InboundRequestId,
  reading: InitializeReading,
  { cause, client }: SessionStatus,
): OutboundResponse {
  if (cause) return errorResponse(id, shuttingDown);
  if (client) {
    const message = `Invalid request: the session has already been initialized by ${inspectValue(client.info.name)}`;
    return errorResponse(id, { code: ErrorCode.invalidRequest, message });
  }
  return errorResponse(
    id,
    invalidInitialize(reading.ok ? 'the session does not expect it now' : reading.fault),
  );
}

/**
 * The error in a modern session. Legacy clients may show only its message.
 *
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based
 *   Versions"
 */
export function refusedVersion(id: InboundRequestId, reading: InitializeReading): OutboundResponse {
  const { message, ...error } = unsupportedVersion(
    reading.ok ? reading.client.requestedVersion : 'unknown',
  );
  const why = 'because this connection has already served requests that name their version';
  return errorResponse(id, { ...error, message: `${message}, ${why}` });
}

/** @param fault the problem */
export function invalidInitialize(fault: string): WireError {
  return { code: ErrorCode.invalidParams, message: `Invalid initialize: ${fault}` };
}
