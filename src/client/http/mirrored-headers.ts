/**
 * The headers that repeat what the body of a request says, since 2026-07-28. What stands between
 * client and server goes by them.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { encodeHeaderValue, namedBy } from '../../protocol/header-values.ts';
import type { MirroredParameter } from '../../schema/mirrored-parameters.ts';

/** The headers of a request besides its version. */
export function mirroredHeaders(
  method: string,
  params: JsonObject | undefined,
  parameters: readonly MirroredParameter[] = [],
): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-method': encodeHeaderValue(method) };
  const name = params?.[namedBy.get(method) ?? ''];
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name);
  for (const { name: parameter, path } of parameters) {
    const text = textOf(path.reduce<unknown>(memberOf, params?.['arguments']));
    if (text !== undefined) headers[`mcp-param-${parameter}`] = encodeHeaderValue(text);
  }
  return headers;
}

function memberOf(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Undefined if there is nothing to repeat: no value, or one that the tool refuses anyway. */
function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
      return String(value);
    case 'number':
      return Number.isInteger(value) ? BigInt(value).toString() : String(value);
    default:
      return undefined;
  }
}
