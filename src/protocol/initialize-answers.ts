/**
 * How `initialize` is answered.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { inspectValue } from './classify.ts';
import { unsupportedVersion } from './envelope.ts';
import { ErrorCode, errorResponse, shuttingDown } from './errors.ts';
import type { InboundRequestId, OutboundResponse, WireError } from './frames.ts';
import type { ServerDescription } from './implementation.ts';
import type { InitializeReading, PeerDescription } from './initialize.ts';

/** The result, in the dialect that was negotiated. */
export function acceptedInitialize(
  id: InboundRequestId,
  { dialect }: PeerDescription,
  server: ServerDescription,
): OutboundResponse {
  return { jsonrpc: '2.0', id, result: dialect.initializeResult(server) };
}

/** The facts for which another `initialize` is refused. */
interface SessionStatus {
  /** Set once the session ends. */
  readonly cause: object | undefined;
  /** Set once the session has had its one `initialize`. */
  readonly client: PeerDescription | undefined;
}

/** The error that says what was wrong with it. */
export function refusedInitialize(
  id: InboundRequestId,
  reading: InitializeReading,
  { cause, client }: SessionStatus,
): OutboundResponse {
  if (cause) return errorResponse(id, shuttingDown);
  if (client) {
    const message = `Invalid request: the session is initialized already, by ${inspectValue(client.info.name)}; it has one initialize`;
    return errorResponse(id, { code: ErrorCode.invalidRequest, message });
  }
  return errorResponse(
    id,
    invalidInitialize(reading.ok ? 'it came at the wrong time' : reading.fault),
  );
}

/**
 * The error in a modern session. A legacy client may show only its text.
 *
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based
 *   Versions"
 */
export function refusedVersion(id: InboundRequestId, reading: InitializeReading): OutboundResponse {
  const { message, ...error } = unsupportedVersion(
    reading.ok ? reading.client.requestedVersion : 'unknown',
  );
  const why = 'this connection has served requests with their own version already';
  return errorResponse(id, { ...error, message: `${message}, ${why}` });
}

/** @param fault what is wrong with it */
export function invalidInitialize(fault: string): WireError {
  return { code: ErrorCode.invalidParams, message: `Invalid initialize: ${fault}` };
}
