/**
 * The `_meta` member of params and results.
 *
 * @see MCP 2025-11-25, basic, "General fields"
 */
import { isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** Adds members to the `_meta` of params or of a result. Existing members stay. */
export function withMeta(body: JsonObject, meta: JsonObject): JsonObject {
  const own = body['_meta'];
  return { ...body, _meta: isJsonObject(own) ? { ...own, ...meta } : meta };
}
