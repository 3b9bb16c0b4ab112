/**
 * A request's `_meta` as what carries a trace context: `traceparent`, `tracestate` and `baggage`, without a prefix.
 *
 * @see MCP SEP-414
 */
import type { TextMapGetter } from '@opentelemetry/api';
import { isJsonObject } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';

export function carrierOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.['_meta'];
  return isJsonObject(meta) ? meta : {};
}

/** A client may write anything there: what is no text is not there. */
export const metaGetter: TextMapGetter<JsonObject> = {
  keys: (meta) => Object.keys(meta),
  get: (meta, key) => {
    const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
    return typeof value === 'string' ? value : undefined;
  },
};
