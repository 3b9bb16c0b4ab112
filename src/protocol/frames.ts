/**
 * The shapes of JSON-RPC messages, as they stand on the wire and as the reader hands them on.
 *
 * @see MCP 2025-11-25, basic, "Messages"
 */

/** A request's id: a string or a safe integer. `1` and `"1"` are different ids. */
export type RequestId = string | number;

/** A JSON object as `JSON.parse` makes it. Its own `__proto__` key, if any, is an ordinary property. */
export type JsonObject = { readonly [key: string]: unknown };

/** The `error` member of a failed response. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface OutboundRequest {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: object;
}

export interface OutboundNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: object;
}

export interface OutboundResult {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly result: object;
}

export interface OutboundError {
  readonly jsonrpc: '2.0';
  /** Absent where the request's id could not be read: clients built on the official schema reject `null`. */
  readonly id?: RequestId;
  readonly error: WireError;
}

export type OutboundResponse = OutboundResult | OutboundError;
export type OutboundMessage = OutboundRequest | OutboundNotification | OutboundResponse;

/** What is written as one unit: a message, or the answers to a 2025-03-26 batch. */
export type OutboundFrame = OutboundMessage | readonly OutboundResponse[];

/** A request of the client's, checked. */
export interface InboundRequest {
  readonly kind: 'request';
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** How long it was on the wire, if anybody has measured it: UTF-16 units, which are bytes for ASCII. */
  readonly size?: number | undefined;
}

/** A notification of the client's, checked. */
export interface InboundNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** The client's answer to a request of ours. */
export interface InboundResponse {
  readonly kind: 'response';
  readonly id: RequestId;
  readonly outcome:
    | { readonly ok: true; readonly result: JsonObject }
    | { readonly ok: false; readonly error: WireError }
    /** `isJsonRpc`: JSON-RPC would allow it, MCP does not. */
    | { readonly ok: false; readonly malformed: string; readonly isJsonRpc: boolean };
}

/** Something that is not a message: what is answered, and with which id if one could be read. */
export interface InvalidFrame {
  readonly kind: 'invalid';
  readonly id?: RequestId;
  readonly error: WireError;
}

/** An error without an id: the client could not read something of ours. Nobody waits for it, and it is never answered. */
export interface StrayError {
  readonly kind: 'stray-error';
  readonly error: WireError;
}

/** A JSON array. Only 2025-03-26 gives it a meaning, so its members are looked at by who knows the revision. */
export interface InboundBatch {
  readonly kind: 'batch';
  readonly messages: readonly unknown[];
  /** How long all of them were on the wire, if anybody has measured it. */
  readonly size?: number | undefined;
}

export type SingleFrame =
  | InboundRequest
  | InboundNotification
  | InboundResponse
  | StrayError
  | InvalidFrame;
export type InboundFrame = SingleFrame | InboundBatch;
