/**
 * The three classes of intended errors, and how a thrown value becomes a wire error.
 *
 * | class | meaning | where it goes |
 * |---|---|---|
 * | `ProtocolError` | a numeric code | the wire |
 * | `ToolError` | the model may recover | a result with `isError: true` |
 * | `RuntimeError` | a string code | the caller |
 *
 * Anything else that is thrown is unexpected and logged with its cause. If a tool threw it, the model
 * gets its message, or an id if the author masks errors; otherwise the wire gets `-32603` without
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
  /** Our code for "not now": overloaded, or shutting down. `data.retryable` says which. */
  serverUnavailable: -32000,
  resourceNotFound: -32002,
  /** `data.elicitations` lists the URLs that a person must open first. */
  urlElicitationRequired: -32042,
  /** The headers of an HTTP request are not those of its body, or are missing (2026-07-28). */
  headerMismatch: -32020,
  /** `data.requiredCapabilities` says what the client would have to declare (2026-07-28). */
  missingClientCapability: -32021,
  /** `data.supported` and `data.requested` say which versions (2026-07-28). */
  unsupportedProtocolVersion: -32022,
} as const;

/**
 * Gives an error a detail that Node does not print when nobody catches the error: it may be long, and
 * the message says what counts.
 */
function addDetail(error: Error, name: string, value: unknown): void {
  if (value === undefined) return;
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}

/** An error that the client receives as it is. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** A JSON-RPC or MCP error code. */
  readonly code: number;
  /** Sent as `error.data`. */
  declare readonly data: unknown;
  /** Further members of the error object that a peer has sent. */
  declare readonly members: JsonObject | undefined;

  /** @throws {RangeError} the code is not an integer, as JSON-RPC demands */
  constructor(code: number, message: string, data?: unknown) {
    if (!Number.isInteger(code)) {
      throw new RangeError(
        `The code of a ProtocolError must be an integer, this is ${String(code)}`,
      );
    }
    super(message);
    this.code = code;
    addDetail(this, 'data', data);
  }
}

/** The error of another server that is forwarded: it leaves as it came, whatever the revision says of its code. */
export class ForwardedError extends ProtocolError {
  constructor({ code, message, data, members }: ProtocolError) {
    super(code, message, data);
    addDetail(this, 'members', members);
  }
}

/** A failure that the model may recover from: it becomes a tool result with `isError: true`. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /**
   * A short machine-readable code, such as `OUTSIDE_ROOTS`. The text for the model begins with it.
   */
  readonly code: string | undefined;

  constructor(message: string, options?: { readonly code?: string; readonly cause?: unknown }) {
    super(message, options);
    this.code = options?.code;
  }
}

/**
 * Why something that the runtime was asked for did not happen. docs/errors.md says who gets
 * which, and what to do.
 */
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

/** How a server's process has ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last lines of its standard error. */
  readonly stderr: string;
}

/** A request to the client that failed. */
export interface FailedRequest {
  /** The method that was asked. */
  readonly method: string;
  /** Its id on the wire; undefined if it failed before it was given one. */
  readonly id?: RequestId | undefined;
  /** From the asking to the failure, milliseconds. */
  readonly elapsedMs: number;
}

/** An error for the caller of this library: a string code and its details. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  /** What kind of failure it is, for programs. */
  readonly code: RuntimeErrorCode;
  /** The client's own error, if it answered with one (`REQUEST_FAILED`). */
  declare readonly remote: WireError | undefined;
  /**
   * The request to the client that failed. Undefined if no request did, as when a result was read
   * and does not conform.
   */
  declare readonly request: FailedRequest | undefined;
  /** The capabilities that the client would have to declare (`CAPABILITY_MISSING`). */
  declare readonly requiredCapabilities: JsonObject | undefined;
  /** How the server's process has ended, if that is why (`CLOSED`). */
  declare readonly exit: ProcessExit | undefined;
  /** The status of the HTTP answer, if that is why (`HTTP_STATUS`, `UNAUTHORIZED`). */
  declare readonly status: number | undefined;

  /** @param options `cause` of a `CANCELLED` is the reason of the abort */
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

/** The code with which the peer has answered a request that failed; undefined if it has not. */
export function remoteCodeOf(error: unknown): number | undefined {
  if (error instanceof ProtocolError) return error.code;
  return error instanceof RuntimeError ? error.remote?.code : undefined;
}

/** The error for a request with wrong params. The message says what is wrong. */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.invalidParams, `Invalid params: ${message}`);
}

/** An error response. It has no id if the request's id could not be read. */
export function errorResponse(id: InboundRequestId | undefined, error: WireError) {
  return id === undefined
    ? ({ jsonrpc: '2.0', error } as const)
    : ({ jsonrpc: '2.0', id, error } as const);
}

/** The wire error for a bug. It reveals nothing of the cause. */
export const internalError: WireError = Object.freeze({
  code: ErrorCode.internalError,
  message: 'Internal error',
});

/**
 * What requests fail with. The errors are made one by one: making one captures a stack, and most
 * sessions end with nothing pending.
 */
export type RequestFailure = Pick<RuntimeError, 'code' | 'message' | 'cause'> &
  Partial<Pick<RuntimeError, 'exit' | 'status'>>;

/** The answer to a request that comes while the session ends, or is still running then. */
export const shuttingDown: WireError = Object.freeze({
  code: ErrorCode.serverUnavailable,
  message: 'The server is shutting down',
  data: { reason: 'shutting-down', retryable: false },
});

/** The wire form of an intended error; undefined if the thrown value is a bug. */
export function toWireError(error: unknown): WireError | undefined {
  if (!(error instanceof ProtocolError)) return undefined;
  const { code, message, data, members } = error;
  const wire = data === undefined ? { code, message } : { code, message, data };
  return members ? { ...wire, ...members } : wire;
}

/** The error that a client receives as this one. */
export function fromWireError({ code, message, data, ...members }: WireError): ProtocolError {
  const error = new ProtocolError(code, message, data);
  if (Object.keys(members).length > 0) addDetail(error, 'members', members);
  return error;
}

/** A thrown value as text for people. Never throws, even if reading the value does. */
export function textOfError(error: unknown): string {
  try {
    return String(error).slice(0, 2000);
  } catch {
    return 'something that has no text';
  }
}

/** The error of a request in the modern era, in which a server sends none by itself. */
export const serverRequestsUnsupported: RequestFailure = {
  code: 'CAPABILITY_MISSING',
  message: 'The client speaks a revision in which a server sends no requests; nothing was sent',
  cause: undefined,
};
