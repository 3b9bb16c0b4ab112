/** JSON-RPC messages in a line, a body or an event. */
import type { JsonObject, RequestId } from 'mcp-actors';
import { isJsonObject } from 'mcp-actors/internal';

/** Map key of an id; `1` and `"1"` are different ids. */
export function idKey(id: unknown): string {
  return JSON.stringify(id) ?? 'missing';
}

/** True for a valid request id: a string or a safe integer. */
export function isMessageId(id: unknown): id is RequestId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

/** Messages of a line: one, or those of a batch. */
export function messagesIn(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isJsonObject);
}

/** Parses JSON; undefined if invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
