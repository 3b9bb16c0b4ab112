/**
 * Classifies a parsed JSON value as a frame: a total function. Hand-written, because a schema
 * library would cost many times the rest of a ping (see
 * docs/decisions/02-control-plane-and-data-plane.md).
 *
 * @see JSON-RPC 2.0, sections 4 to 6
 * @see MCP 2025-11-25, basic, "Messages"
 */
import { ErrorCode } from './errors.ts';
import type {
  InboundRequestId,
  InboundFrame,
  InvalidFrame,
  JsonObject,
  RequestId,
  OutboundRequestId,
  SingleFrame,
  WireError,
} from './frames.ts';

/** True for a string or a safe integer: ids that can be echoed without loss. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** True for a JSON object, as opposed to an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Classifies any JSON value. Never throws: a value that is not a message becomes `invalid`, with
 * the reason.
 * @param size length on the wire, UTF-16 units
 */
export function classify(value: unknown, size?: number): InboundFrame {
  if (!Array.isArray(value)) return classifyMessage(value, size);
  if (value.length === 0)
    return invalid('A batch must hold at least one message, got an empty array');
  return { kind: 'batch', messages: value, size };
}

/** Classifies one message, or a member of a batch. */
export function classifyMessage(value: unknown, size?: number): SingleFrame {
  if (!isJsonObject(value)) {
    return invalid(`A message must be a JSON object, got ${inspectValue(value)}`);
  }
  const { jsonrpc, method, id } = value;
  if (jsonrpc !== '2.0') {
    return broken(value, `"jsonrpc" must be "2.0", got ${inspectValue(jsonrpc)}`);
  }
  if (method === undefined) return classifyResponse(value);
  if (typeof method !== 'string') {
    return broken(value, `"method" must be a string, got ${inspectValue(method)}`);
  }
  // Go, C# and Java serialize an absent member as null.
  const params = value['params'] ?? undefined;
  if (id === undefined) {
    // Notifications are never answered, so malformed params are dropped instead of reported.
    return {
      kind: 'notification',
      method,
      params: isJsonObject(params) ? params : undefined,
    };
  }
  if (!isRequestId(id)) {
    return invalid(`"id" must be a string or a safe integer, got ${inspectValue(id)}`);
  }
  if (params !== undefined && !isJsonObject(params)) {
    const code = Array.isArray(params) ? ErrorCode.invalidParams : ErrorCode.invalidRequest;
    return invalid(`"params" must be an object, got ${inspectValue(params)}`, id, code);
  }
  return { kind: 'request', id: id as InboundRequestId, method, params, size };
}

/**
 * Classifies a message without a valid version or method. One with a result or error is a response
 * to one of our ids, so it must not be answered with an error.
 */
function broken(message: JsonObject, reason: string): SingleFrame {
  const { id, method } = message;
  if (!isRequestId(id)) return invalid(reason);
  const isAnswer = typeof method !== 'string' && ('result' in message || 'error' in message);
  return isAnswer ? malformed(id, reason) : invalid(reason, id);
}

function classifyResponse(message: JsonObject): SingleFrame {
  const { id, result, error } = message;
  if (result === undefined && error === undefined) {
    const reason = 'A message must have a "method", a "result" or an "error", got none of them';
    return isRequestId(id) ? { ...invalid(reason, id), lacks: 'content' } : invalid(reason);
  }
  if ((id === undefined || id === null) && result === undefined && isWireError(error)) {
    return { kind: 'stray-error', error };
  }
  if (!isRequestId(id)) {
    return invalid(
      `"id" of a response must be a string or a safe integer, got ${inspectValue(id)}`,
    );
  }
  if (result !== undefined && error !== undefined) {
    return malformed(id, 'it must have either "result" or "error", got both');
  }
  if (error === undefined) {
    return isJsonObject(result)
      ? { kind: 'response', id: id as OutboundRequestId, outcome: { ok: true, result } }
      : malformed(id, `"result" must be an object, got ${inspectValue(result)}`, true);
  }
  return isWireError(error)
    ? { kind: 'response', id: id as OutboundRequestId, outcome: { ok: false, error } }
    : malformed(id, '"error" must be an object with an integer "code" and a string "message"');
}

function malformed(id: RequestId, reason: string, isJsonRpc = false): SingleFrame {
  const outcome = { ok: false, malformed: reason, isJsonRpc } as const;
  return { kind: 'response', id: id as OutboundRequestId, outcome };
}

function isWireError(value: unknown): value is WireError & JsonObject {
  return (
    isJsonObject(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string'
  );
}

function invalid(
  reason: string,
  id?: RequestId,
  code: number = ErrorCode.invalidRequest,
): InvalidFrame {
  const label = code === ErrorCode.invalidParams ? 'Invalid params' : 'Invalid request';
  const error: WireError = { code, message: `${label}: ${reason}` };
  return id === undefined
    ? { kind: 'invalid', error }
    : { kind: 'invalid', id: id as InboundRequestId, error };
}

/** A short, bounded description of a value for error messages. */
export function inspectValue(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'object':
      return 'an object';
    case 'string':
      return value.length > 60 ? `a string of ${value.length} characters` : JSON.stringify(value);
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return `a ${typeof value}`;
  }
}

/**
 * The inverse of {@link classify}: the JSON-RPC message of a frame. Its parts are not copied.
 *
 * @returns undefined for invalid input and malformed responses
 */
export function messageOf(frame: SingleFrame): JsonObject | undefined {
  switch (frame.kind) {
    case 'request':
    case 'notification': {
      const { method, params } = frame;
      const id = frame.kind === 'request' ? { id: frame.id } : {};
      return { jsonrpc: '2.0', ...id, method, ...(params ? { params } : {}) };
    }
    case 'response': {
      const { id, outcome } = frame;
      if (outcome.ok) return { jsonrpc: '2.0', id, result: outcome.result };
      return 'error' in outcome ? { jsonrpc: '2.0', id, error: outcome.error } : undefined;
    }
    case 'stray-error':
      return { jsonrpc: '2.0', error: frame.error };
    case 'invalid':
      return undefined;
  }
}
