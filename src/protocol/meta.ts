/**
 * The `_meta` member of params and results.
 *
 * @see MCP 2026-07-28, basic, "General fields"
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** The keys with which requests and results of the modern era describe themselves. */
export const MetaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

/** Adds members to the `_meta` of params or of a result. Existing members stay. */
export function withMeta(body: JsonObject, meta: JsonObject): JsonObject {
  const own = body['_meta'];
  if (own === undefined) return Object.assign({}, body, { _meta: meta });
  // Not by a spread: each result of one with more members has a hidden class of its own.
  return Object.assign({}, body, { _meta: isJsonObject(own) ? { ...own, ...meta } : meta });
}
