/** Builders of client messages, and types of received frames. */
import { isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject, RequestId, WireError } from '../../../src/protocol/frames.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { handshakeVersions, statelessVersions } from '../../../src/protocol/dialects/registry.ts';
import { MetaKey } from '../../../src/protocol/meta.ts';

/** A request that the session sent. */
export interface RequestFrame {
  /** The version of JSON-RPC. */
  readonly jsonrpc: '2.0';
  /** What the answer has to carry. */
  readonly id: RequestId;
  /** What is asked. */
  readonly method: string;
  /** The details; absent if there are none. */
  readonly params?: JsonObject;
}

/** A notification that the session sent. */
export interface NotificationFrame {
  /** The version of JSON-RPC. */
  readonly jsonrpc: '2.0';
  /** What has happened. */
  readonly method: string;
  /** The details; absent if there are none. */
  readonly params?: JsonObject;
}

/** A response that the session sent. */
export interface ResponseFrame {
  /** The version of JSON-RPC. */
  readonly jsonrpc: '2.0';
  /** Of the request that it answers; absent if that could not be read. */
  readonly id?: RequestId;
  /** What came of it; absent if it failed. */
  readonly result?: JsonObject;
  /** Why it failed; absent if it did not. */
  readonly error?: WireError;
}

/** A message that a client sends. */
export type Message = { readonly jsonrpc: '2.0' } & JsonObject;

/** A client's request. */
export function request(id: unknown, method: string, params?: JsonObject): Message {
  return { jsonrpc: '2.0', id, method, ...(params ? { params } : {}) };
}

/** A client's notification. */
export function notification(method: string, params?: JsonObject): Message {
  return { jsonrpc: '2.0', method, ...(params ? { params } : {}) };
}

/** Answers a request that the session sent. */
export function result(id: unknown, value: JsonObject): Message {
  return { jsonrpc: '2.0', id, result: value };
}

/** Answers a request that the session sent with an error. */
export function failure(id: unknown, error: WireError): Message {
  return { jsonrpc: '2.0', id, error };
}

/** Client parameters of `initialize`. */
export interface Introduction {
  /** By default the latest revision. */
  readonly protocolVersion?: string;
  /** By default none. */
  readonly capabilities?: JsonObject;
  /** By default `scripted-peer`. */
  readonly clientInfo?: JsonObject;
}

/** A request that begins a session. */
export function initialize(id: unknown, introduction: Introduction = {}): Message {
  const { protocolVersion = handshakeVersions[0], capabilities = {} } = introduction;
  const { clientInfo = { name: 'scripted-peer', version: '1.0.0' } } = introduction;
  return request(id, Method.initialize, { protocolVersion, capabilities, clientInfo });
}

/**
 * Client information in a request of 2026-07-28. Tests may pass invalid values; undefined omits a
 * member.
 */
export interface EnvelopeOptions {
  /** Default: the latest revision without a handshake. */
  readonly protocolVersion?: unknown;
  /** By default none. */
  readonly capabilities?: unknown;
  /** Default: the kit's name and version. */
  readonly clientInfo?: unknown;
  /** Default: no log messages. */
  readonly logLevel?: unknown;
}

/** Builds a request of 2026-07-28, which identifies its client in `_meta`. */
export function enveloped(
  id: unknown,
  method: string,
  params: JsonObject = {},
  options: EnvelopeOptions = {},
): Message {
  const { protocolVersion, capabilities, clientInfo, logLevel } = {
    protocolVersion: statelessVersions[0],
    capabilities: {},
    clientInfo: { name: 'scripted-peer', version: '1.0.0' },
    ...options,
  };
  const members = {
    [MetaKey.protocolVersion]: protocolVersion,
    [MetaKey.clientCapabilities]: capabilities,
    [MetaKey.clientInfo]: clientInfo,
    [MetaKey.logLevel]: logLevel,
  };
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  const own = params['_meta'];
  const _meta = { ...Object.fromEntries(given), ...(isJsonObject(own) ? own : {}) };
  return request(id, method, { ...params, _meta });
}

/** `notifications/initialized`. */
export const initialized: Message = notification(Method.initialized);

/** `notifications/roots/list_changed`. */
export const rootsChanged: Message = notification(Method.rootsListChanged);

/** `tools/call`; `meta` becomes `params._meta`. */
export function toolCall(id: unknown, name: string, args?: JsonObject, meta?: JsonObject): Message {
  return request(id, 'tools/call', {
    name,
    ...(args ? { arguments: args } : {}),
    ...(meta ? { _meta: meta } : {}),
  });
}

/** `notifications/cancelled`. */
export function cancelled(requestId: unknown, reason?: string): Message {
  return notification(Method.cancelled, {
    requestId,
    ...(reason === undefined ? {} : { reason }),
  });
}

/** `notifications/progress`. */
export function progressed(progressToken: unknown, progress: number): Message {
  return notification(Method.progress, { progressToken, progress });
}

/** True if a frame is a request. */
export function isRequestFrame(frame: unknown): frame is RequestFrame {
  return isJsonObject(frame) && 'method' in frame && 'id' in frame;
}

/** True if a frame is a notification. */
export function isNotificationFrame(frame: unknown): frame is NotificationFrame {
  return isJsonObject(frame) && 'method' in frame && !('id' in frame);
}

/** True if a frame is a response, with a result or an error. */
export function isResponseFrame(frame: unknown): frame is ResponseFrame {
  return isJsonObject(frame) && ('result' in frame || 'error' in frame);
}

/** The answers to a batch, which 2025-03-26 sends as one frame. */
export function isBatchFrame(frame: unknown): frame is readonly ResponseFrame[] {
  return Array.isArray(frame) && frame.every(isResponseFrame);
}
