/**
 * Body values repeated in HTTP headers, for intermediaries.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 */

import { inspectValue } from './classify.ts';

/** For each method, the member of its params that the `Mcp-Name` header repeats. */
export const mcpNameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

const encoded = /^=\?base64\?(.*)\?=$/;
/** Text that a header can hold unencoded: no white space at either end. */
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Encodes text as a header value: unchanged, or in base64 if a header cannot hold it. */
export function encodeHeaderValue(text: string): string {
  if (plain.test(text) && !encoded.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `=?base64?${btoa(binary)}?=`;
}

/** Decodes a header value; undefined if it is marked as base64 but is not base64 of UTF-8. */
export function decodeHeaderValue(value: string): string | undefined {
  const [, inBase64] = encoded.exec(value) ?? [];
  if (inBase64 === undefined) return value;
  if (!base64.test(inBase64)) return undefined;
  try {
    return utf8.decode(Uint8Array.from(atob(inBase64), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** A body value and its name in messages. */
export interface BodyValue {
  readonly value: unknown;
  readonly what: string;
}

/** Compares a header, possibly in base64, with the body. Returns the problem, if any. */
export function validateHeader(
  header: string,
  text: string | undefined,
  said: BodyValue,
): string | undefined {
  if (text === undefined) return validatePlainHeader(header, text, said);
  if (!/^[\t\x20-\x7e]*$/.test(text)) {
    return `The header ${header} must not contain control or non-ASCII characters; encode the value in base64`;
  }
  const decoded = decodeHeaderValue(text);
  if (decoded !== undefined) return validatePlainHeader(header, decoded, said);
  return `The header ${header} must be base64 of UTF-8 text, got ${inspectValue(text)}`;
}

/** Compares a header that is never in base64 with the body. Returns the problem, if any. */
export function validatePlainHeader(
  header: string,
  text: string | undefined,
  { value, what }: BodyValue,
): string | undefined {
  if (text === undefined) {
    if (value === undefined || typeof value === 'object') return undefined;
    return `The header ${header} must match ${what} (${inspectValue(value)}), got none`;
  }
  if (isText(value, text)) return undefined;
  return `The header ${header} must match ${what} (${inspectValue(value)}), got ${inspectValue(text)}`;
}

/** True if the text represents the value. Numbers are compared numerically. */
function isText(value: unknown, text: string): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return text === String(value);
    case 'number':
      // Unsafe numbers are excluded, because different ones may parse as equal.
      return Number.isSafeInteger(value) && /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
    default:
      return false;
  }
}
