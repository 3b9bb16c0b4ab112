/**
 * JSON-RPC messages on the wire, and frames: messages as the reader passes them on.
 *
 * @see MCP 2025-11-25, basic, "Messages"
 */

import type { RequestOrigin } from './request-origin.ts';

/** A request id: a string or a safe integer. `1` and `"1"` are different ids. */
export type RequestId = string | number;

/** Brand for the direction of a request. Exists in types only. */
declare const direction: unique symbol;

/**
 * Id of a request from the peer, created when its message is read. Not assignable to {@link
 * OutboundRequestId}.
 */
export type InboundRequestId = RequestId & { readonly [direction]: 'inbound' };

/** Id of one of our requests, created with the request or read from its response. */
export type OutboundRequestId = RequestId & { readonly [direction]: 'outbound' };

/** A JSON object from `JSON.parse`. A `__proto__` key in it is an ordinary property. */
export type JsonObject = {
  /** Any JSON value. */
  readonly [key: string]: unknown;
};

/** The `error` member of a failed response. */
export interface WireError {
  /** Error code of JSON-RPC or MCP. */
  readonly code: number;
  /** Text for people. */
  readonly message: string;
  /** Machine-readable details. */
  readonly data?: unknown;
}

export interface OutboundRequest {
  readonly jsonrpc: '2.0';
  readonly id: OutboundRequestId;
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
  readonly id: InboundRequestId;
  readonly result: object;
}

export interface OutboundError {
  readonly jsonrpc: '2.0';
  /** Absent if the request's id was unreadable: the official schema rejects `null`. */
  readonly id?: InboundRequestId;
  readonly error: WireError;
}

export type OutboundResponse = OutboundResult | OutboundError;
export type OutboundMessage = OutboundRequest | OutboundNotification | OutboundResponse;

/** A unit of output: a message, or the answers to a 2025-03-26 batch. */
export type OutboundFrame = OutboundMessage | readonly OutboundResponse[];

/** A validated request from the peer. */
export interface InboundRequest {
  readonly kind: 'request';
  readonly id: InboundRequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Length on the wire if known, UTF-16 units (bytes, for ASCII). */
  readonly size?: number | undefined;
  /** Set by transports that answer each request separately. */
  readonly origin?: RequestOrigin | undefined;
}

/** Identifies the peer's request that a message relates to. */
export type RelatedRequest = Pick<InboundRequest, 'id' | 'origin'>;

/** The recipient of an answer: a request, or invalid input, which may lack an id. */
export type AnsweredInput = Partial<RelatedRequest>;

/** A validated notification from the peer. */
export interface InboundNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** Adds the origin to a frame. All requests keep the same hidden class. */
export function withOrigin(
  frame: InboundRequest | InboundBatch | InvalidFrame,
  origin: RequestOrigin,
): InboundFrame {
  if (frame.kind !== 'request') return { ...frame, origin };
  const { kind, id, method, params, size } = frame;
  return { kind, id, method, params, size, origin };
}

/** The peer's answer to one of our requests. */
export interface InboundResponse {
  readonly kind: 'response';
  readonly id: OutboundRequestId;
  readonly outcome:
    | { readonly ok: true; readonly result: JsonObject }
    | { readonly ok: false; readonly error: WireError }
    /** `isJsonRpc`: valid in JSON-RPC, but not in MCP. */
    | { readonly ok: false; readonly malformed: string; readonly isJsonRpc: boolean }
    | { readonly ok: false; readonly tooLong: string };
}

/** Invalid input: the error to answer with, and the id, if it could be read. */
export interface InvalidFrame {
  readonly kind: 'invalid';
  readonly id?: InboundRequestId;
  /** Our requests that the unreadable input answers. */
  readonly answers?: readonly OutboundRequestId[];
  /**
   * Set if the input has no method, result or error: a response without content, or a request
   * without a method.
   */
  readonly lacks?: 'content';
  /** Beginning of a line of plain text, such as a line that a server printed to stdout. */
  readonly text?: string;
  readonly error: WireError;
  /** See {@link InboundRequest.origin}. */
  readonly origin?: RequestOrigin | undefined;
}

/**
 * An error without an id: the peer could not read one of our messages. It relates to no request and
 * gets no answer.
 */
export interface StrayError {
  readonly kind: 'stray-error';
  readonly error: WireError;
}

/** A JSON array. Only 2025-03-26 has batches, so the revision decides how to read its members. */
export interface InboundBatch {
  readonly kind: 'batch';
  readonly messages: readonly unknown[];
  /** Total length on the wire, if known. */
  readonly size?: number | undefined;
  /** See {@link InboundRequest.origin}. */
  readonly origin?: RequestOrigin | undefined;
}

export type SingleFrame =
  | InboundRequest
  | InboundNotification
  | InboundResponse
  | StrayError
  | InvalidFrame;
/** The content of one line or one HTTP body. */
export type InboundFrame = SingleFrame | InboundBatch;
