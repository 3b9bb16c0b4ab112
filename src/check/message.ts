/** Messages as they stand in a line, in a body or in an event. */
import { isJsonObject } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';

/** `1` and `"1"` are different ids. */
export function idKey(id: unknown): string {
  return JSON.stringify(id) ?? 'missing';
}

/** The messages in a line: one, or those of a batch. */
export function messagesIn(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isJsonObject);
}

/** A text as JSON; undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
