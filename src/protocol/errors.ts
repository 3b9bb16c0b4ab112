/**
 * The three classes of expected errors, and their conversion to wire errors.
 *
 * | class | meaning | destination |
 * |---|---|---|
 * | `ProtocolError` | a numeric code | the wire |
 * | `ToolError` | the model may recover | a result with `isError: true` |
 * | `RuntimeError` | a string code | the caller |
 *
 * Any other error is unexpected, and is logged with its cause. If a tool threw it, the model gets
 * its message, or an id if the author masks errors; otherwise the wire gets `-32603` without
 * details.
 */
import type { InboundRequestId, JsonObject, RequestId, WireError } from './frames.ts';

/**
 * Numeric codes of JSON-RPC and MCP.
 *
 * @see MCP 2025-11-25, schema, "Errors"
 */
export const ErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Our code for a server that is overloaded or shutting down; `data.reason` says which. */
  serverUnavailable: -32000,
  resourceNotFound: -32002,
  /** `data.elicitations` lists the URLs that a person must open first. */
  urlElicitationRequired: -32042,
  /** HTTP headers are missing or contradict the body (2026-07-28). */
  headerMismatch: -32020,
  /** `data.requiredCapabilities` lists what the client must declare (2026-07-28). */
  missingClientCapability: -32021,
  /** `data.supported` and `data.requested` list the versions (2026-07-28). */
  unsupportedProtocolVersion: -32022,
} as const;

/** Adds a non-enumerable property, which Node omits when it prints an uncaught error. */
function addDetail(error: Error, name: string, value: unknown): void {
  if (value === undefined) return;
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}

/** An error that is sent to the client unchanged. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** JSON-RPC or MCP error code. */
  readonly code: number;
  /** Sent as `error.data`. */
  declare readonly data: unknown;
  /** Further members of a peer's error object. */
  declare readonly members: JsonObject | undefined;

  /** @throws {RangeError} the code is not an integer */
  constructor(code: number, message: string, data?: unknown) {
    if (!Number.isInteger(code)) {
      throw new RangeError(`The code of a ProtocolError must be an integer, got ${String(code)}`);
    }
    super(message);
    this.code = code;
    addDetail(this, 'data', data);
  }
}

/** The forwarded error of another server, sent unchanged even if the revision forbids its code. */
export class ForwardedError extends ProtocolError {
  constructor({ code, message, data, members }: ProtocolError) {
    super(code, message, data);
    addDetail(this, 'members', members);
  }
}

/** A failure that the model may recover from. Becomes a tool result with `isError: true`. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /** Short machine-readable code, such as `OUTSIDE_ROOTS`. Prefixes the text for the model. */
  readonly code: string | undefined;

  constructor(message: string, options?: { readonly code?: string; readonly cause?: unknown }) {
    super(message, options);
    this.code = options?.code;
  }
}

/** Codes of {@link RuntimeError}. docs/errors.md explains causes and remedies. */
export type RuntimeErrorCode =
  | 'CANCELLED'
  | 'CAPABILITY_MISSING'
  | 'CLOSED'
  | 'CONFIG_INVALID'
  | 'CONNECT_TIMEOUT'
  | 'HTTP_STATUS'
  | 'INVALID_RESPONSE'
  | 'LIMIT_EXCEEDED'
  | 'NOT_READY'
  | 'PROTOCOL_VIOLATION'
  | 'REMOTE_CANCELLED'
  | 'REPLAY_DIVERGED'
  | 'REQUEST_FAILED'
  | 'REQUEST_TIMEOUT'
  | 'SPAWN_FAILED'
  | 'TRANSPORT_CLOSED'
  | 'UNAUTHORIZED'
  | 'UNSERIALIZABLE'
  | 'UNVERIFIED'
  | 'VERSION_UNSUPPORTED';

/** The exit of a server's process. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last lines of stderr. */
  readonly stderr: string;
}

/** A failed request to the client. */
export interface FailedRequest {
  /** The request's method. */
  readonly method: string;
  /** The request's id; undefined if it failed before getting one. */
  readonly id?: RequestId | undefined;
  /** Time from the call to the failure, milliseconds. */
  readonly elapsedMs: number;
}

/** An error for users of this library: a string code and its details. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  /** Machine-readable code. */
  readonly code: RuntimeErrorCode;
  /** The client's error, if it answered with one (`REQUEST_FAILED`). */
  declare readonly remote: WireError | undefined;
  /** The failed request to the client; undefined if no request failed. */
  declare readonly request: FailedRequest | undefined;
  /** The capabilities that the client must declare (`CAPABILITY_MISSING`). */
  declare readonly requiredCapabilities: JsonObject | undefined;
  /** The exit of the server's process, if that is the cause (`CLOSED`). */
  declare readonly exit: ProcessExit | undefined;
  /** The HTTP status, if that is the cause (`HTTP_STATUS`, `UNAUTHORIZED`). */
  declare readonly status: number | undefined;

  /** @param options for `CANCELLED`, `cause` is the abort reason */
  constructor(
    code: RuntimeErrorCode,
    message: string,
    options?: {
      readonly cause?: unknown;
      readonly remote?: WireError;
      readonly request?: FailedRequest;
      readonly requiredCapabilities?: JsonObject | undefined;
      readonly exit?: ProcessExit | undefined;
      readonly status?: number | undefined;
    },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (!options) return;
    const { request, status, remote, requiredCapabilities, exit } = options;
    if (request) this.request = request;
    if (status !== undefined) this.status = status;
    addDetail(this, 'remote', remote);
    addDetail(this, 'requiredCapabilities', requiredCapabilities);
    addDetail(this, 'exit', exit);
  }
}

/** The error code of the peer's answer; undefined if there was no answer. */
export function remoteCodeOf(error: unknown): number | undefined {
  if (error instanceof ProtocolError) return error.code;
  return error instanceof RuntimeError ? error.remote?.code : undefined;
}

/** The error for invalid params. */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidParams, `Invalid params: ${message}`);
}

/** An error response. The id is absent if that of the request could not be read. */
export function errorResponse(id: InboundRequestId | undefined, error: WireError) {
  return id === undefined
    ? ({ jsonrpc: '2.0', error } as const)
    : ({ jsonrpc: '2.0', id, error } as const);
}

/** The wire error for a bug. Reveals nothing about the cause. */
export const internalError: WireError = Object.freeze({
  code: ErrorCode.internalError,
  message: 'Internal error',
});

/**
 * A template for the errors of pending requests. The errors themselves are created on demand: each
 * captures a stack, and most sessions end with nothing pending.
 */
export type RequestFailure = Pick<RuntimeError, 'code' | 'message' | 'cause'> &
  Partial<Pick<RuntimeError, 'exit' | 'status'>>;

/** The answer to requests that arrive or are still running while the session is closing. */
export const shuttingDown: WireError = Object.freeze({
  code: ErrorCode.serverUnavailable,
  message: 'The server is shutting down',
  data: { reason: 'shutting-down', retryable: false },
});

/** The wire form of an expected error; undefined for a bug. */
export function toWireError(error: unknown): WireError | undefined {
  if (!(error instanceof ProtocolError)) return undefined;
  const { code, message, data, members } = error;
  const wire = data === undefined ? { code, message } : { code, message, data };
  return members ? { ...wire, ...members } : wire;
}

/** The error for a received wire error. */
export function fromWireError({ code, message, data, ...members }: WireError): ProtocolError {
  const error = new ProtocolError(code, message, data);
  if (Object.keys(members).length > 0) addDetail(error, 'members', members);
  return error;
}

/** A thrown value as text. Never throws, even if reading the value does. */
export function textOfError(error: unknown): string {
  try {
    return String(error).slice(0, 2000);
  } catch {
    return 'an error without text';
  }
}

/** The error of a request to a modern client, to which servers cannot send requests. */
export const serverRequestsUnsupported: RequestFailure = {
  code: 'CAPABILITY_MISSING',
  message: "The client's revision has no server requests; nothing was sent",
  cause: undefined,
};
