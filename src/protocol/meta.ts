/**
 * The `_meta` member of params and results.
 *
 * @see MCP 2026-07-28, basic, "General fields"
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** `_meta` keys with which modern requests and results describe themselves. */
export const MetaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

/** Adds members to the `_meta` of params or a result. Other members stay. */
export function withMeta(body: JsonObject, meta: JsonObject): JsonObject {
  const own = body['_meta'];
  const isExtended = own !== undefined && isJsonObject(own);
  return replaceMeta(body, isExtended ? { ...own, ...meta } : meta);
}

/** Copies params or a result with another `_meta`. */
export function replaceMeta(body: JsonObject, meta: JsonObject): JsonObject {
  // Object.assign would set the prototype from this key. Spreading would give each result a hidden
  // class of its own.
  if (Object.hasOwn(body, '__proto__')) return { ...body, _meta: meta };
  return Object.assign({}, body, { _meta: meta });
}
