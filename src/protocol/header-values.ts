/**
 * Values of a body that are repeated in headers of its HTTP request, so that what stands between
 * client and server can go by them.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 */

import { inspectValue } from './classify.ts';

/** The member of a method's params that the header `Mcp-Name` repeats. */
export const mcpNameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

const encoded = /^=\?base64\?(.*)\?=$/;
/** What a header may hold as it is: no blank at either end. */
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text as the value of a header: as it is, or in base64 if a header cannot hold it. */
export function encodeHeaderValue(text: string): string {
  if (plain.test(text) && !encoded.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `=?base64?${btoa(binary)}?=`;
}

/** The text of such a header; undefined if it is not the base64 of UTF-8, and says that it is. */
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

/** What the body says, and how to call it. */
export interface BodyValue {
  readonly value: unknown;
  readonly what: string;
}

/** What is wrong with a header whose text may be in base64; undefined if it says what the body says. */
export function validateHeader(
  header: string,
  text: string | undefined,
  said: BodyValue,
): string | undefined {
  if (text === undefined) return validatePlainHeader(header, text, said);
  if (!/^[\t\x20-\x7e]*$/.test(text)) {
    return `The header ${header} has a character that no header may have; such values are sent in base64`;
  }
  const decoded = decodeHeaderValue(text);
  if (decoded !== undefined) return validatePlainHeader(header, decoded, said);
  return `The header ${header} is not the base64 of a text: ${inspectValue(text)}`;
}

/** What is wrong with a header that is never in base64. */
export function validatePlainHeader(
  header: string,
  text: string | undefined,
  { value, what }: BodyValue,
): string | undefined {
  if (text === undefined) {
    if (value === undefined || typeof value === 'object') return undefined;
    return `The header ${header} is missing, and ${what} is ${inspectValue(value)}`;
  }
  if (isText(value, text)) return undefined;
  return `The header ${header} is ${inspectValue(text)}, and ${what} is ${inspectValue(value)}`;
}

/** True if the text stands for the value. Numbers are compared as numbers. */
function isText(value: unknown, text: string): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return text === String(value);
    case 'number':
      // Of others, two that differ could be read as the same.
      return Number.isSafeInteger(value) && /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
    default:
      return false;
  }
}
