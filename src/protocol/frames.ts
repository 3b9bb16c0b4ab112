/**
 * The shapes of JSON-RPC messages: on the wire, and as the reader passes them on.
 *
 * @see MCP 2025-11-25, basic, "Messages"
 */

import type { RequestOrigin } from './request-origin.ts';

/** A request's id: a string or a safe integer. `1` and `"1"` are different ids. */
export type RequestId = string | number;

/** Which way the request goes. It is in the types only: no value has it. */
declare const direction: unique symbol;

/**
 * The id of the peer's request: made where its message is read. It is a {@link RequestId}, and
 * never an {@link OutboundRequestId}.
 */
export type InboundRequestId = RequestId & { readonly [direction]: 'inbound' };

/** The id of our request: made where it is minted, and where an answer names it. */
export type OutboundRequestId = RequestId & { readonly [direction]: 'outbound' };

/** A JSON object from `JSON.parse`. A `__proto__` key in it is an ordinary property. */
export type JsonObject = {
  /** The value of a member: anything that JSON has. */
  readonly [key: string]: unknown;
};

/** The `error` member of a failed response. */
export interface WireError {
  /** As JSON-RPC and the revision have it. */
  readonly code: number;
  /** For people. */
  readonly message: string;
  /** What else the sender has to say, for programs. */
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
  /**
   * Absent if the request's id could not be read: clients with the official schema reject `null`.
   */
  readonly id?: InboundRequestId;
  readonly error: WireError;
}

export type OutboundResponse = OutboundResult | OutboundError;
export type OutboundMessage = OutboundRequest | OutboundNotification | OutboundResponse;

/** A unit of output: a message, or the answers to a 2025-03-26 batch. */
export type OutboundFrame = OutboundMessage | readonly OutboundResponse[];

/** A checked request from the peer. */
export interface InboundRequest {
  readonly kind: 'request';
  readonly id: InboundRequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Its length on the wire, if measured, in UTF-16 units: for ASCII, bytes. */
  readonly size?: number | undefined;
  /** Set by a transport that answers each request by itself. */
  readonly origin?: RequestOrigin | undefined;
}

/** The peer's request, as far as what is sent on its behalf has to know it. */
export type RelatedRequest = Pick<InboundRequest, 'id' | 'origin'>;

/** What is answered: a request, or something that was meant as one and has no id. */
export type AnsweredInput = Partial<RelatedRequest>;

/** A checked notification from the peer. */
export interface InboundNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** A frame with its origin. All requests have the same shape, wherever they come from. */
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
    /** `isJsonRpc`: JSON-RPC allows it, but MCP does not. */
    | { readonly ok: false; readonly malformed: string; readonly isJsonRpc: boolean }
    | { readonly ok: false; readonly tooLong: string };
}

/** A value that is not a message: the error to answer with, and the id, if one could be read. */
export interface InvalidFrame {
  readonly kind: 'invalid';
  readonly id?: InboundRequestId;
  /** Our requests that it was to answer: it is too long or too deep to be read, or not JSON. */
  readonly answers?: readonly OutboundRequestId[];
  /** It has no method, result or error: an answer without content, or a request without a method. */
  readonly lacks?: 'content';
  readonly error: WireError;
  /** See {@link InboundRequest.origin}. */
  readonly origin?: RequestOrigin | undefined;
}

/**
 * An error without an id: the peer could not read one of our messages. It belongs to no request and
 * gets no answer.
 */
export interface StrayError {
  readonly kind: 'stray-error';
  readonly error: WireError;
}

/** A JSON array. Only 2025-03-26 has batches, so the revision decides how its members are read. */
export interface InboundBatch {
  readonly kind: 'batch';
  readonly messages: readonly unknown[];
  /** Their total length on the wire, if measured. */
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
/** What one line, or one HTTP body, turns out to be. */
export type InboundFrame = SingleFrame | InboundBatch;
