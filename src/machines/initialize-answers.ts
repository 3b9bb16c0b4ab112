/**
 * How a session answers `initialize`.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 */
import { describe } from '../protocol/classify.ts';
import { unsupportedVersion } from '../protocol/envelope.ts';
import { ErrorCode, errorResponse, shuttingDown } from '../protocol/errors.ts';
import type { WireError } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { PeerDescription } from '../protocol/initialize.ts';
import type { RouterEvent } from './peer-ports.ts';
import type { CloseCause, InitializeReceived } from './session-ports.ts';

type Answered = Extract<RouterEvent, { readonly type: 'lifecycle.answered' }>;

/** The result, in the dialect that was negotiated. */
export function accepted(
  { request }: Pick<InitializeReceived, 'request'>,
  { dialect }: PeerDescription,
  server: ServerDescription,
): Answered {
  const result = dialect.initializeResult(server);
  const response = { jsonrpc: '2.0', id: request.id, result } as const;
  return { type: 'lifecycle.answered', response, request };
}

/** The facts for which another `initialize` is refused. */
interface Standing {
  /** Set once the session ends. */
  readonly cause: CloseCause | undefined;
  /** Set once the session has had its one `initialize`. */
  readonly client: PeerDescription | undefined;
}

/** The error that says what was wrong with it. */
export function refusedInitialize(received: InitializeReceived, standing: Standing): Answered {
  const { request } = received;
  const response = errorResponse(request.id, refusal(received, standing));
  return { type: 'lifecycle.answered', response, request };
}

/**
 * The error in a modern session. A legacy client may show only its text.
 *
 * @see MCP 2026-07-28, basic/versioning, "Backward Compatibility with Initialization-Based
 *   Versions"
 */
export function refusedVersion({ request, reading }: InitializeReceived): Answered {
  const { message, ...error } = unsupportedVersion(
    reading.ok ? reading.client.requestedVersion : 'unknown',
  );
  const why = 'this connection has served requests with their own version already';
  const response = errorResponse(request.id, { ...error, message: `${message}, ${why}` });
  return { type: 'lifecycle.answered', response, request };
}

function refusal({ reading }: InitializeReceived, { cause, client }: Standing): WireError {
  if (cause) return shuttingDown;
  if (client) {
    return {
      code: ErrorCode.invalidRequest,
      message: `Invalid request: the session is initialized already, by ${describe(client.info.name)}; it has one initialize`,
    };
  }
  return invalidInitialize(reading.ok ? 'it came at the wrong time' : reading.fault);
}

/** @param fault what is wrong with it */
export function invalidInitialize(fault: string): WireError {
  return { code: ErrorCode.invalidParams, message: `Invalid initialize: ${fault}` };
}
