/**
 * Values of a body that are repeated in headers of its HTTP request, so that what stands between
 * client and server can go by them.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 */

/** The member of a method's params that the header `Mcp-Name` repeats. */
export const namedBy: ReadonlyMap<string, string> = new Map([
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
