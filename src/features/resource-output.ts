/**
 * What reading a resource gave, checked and brought into one form. A handler is user code: what it gives may be anything.
 *
 * @see MCP 2025-11-25, server/resources, "Resource Contents"
 */
import { describe } from '../protocol/classify.ts';
import type { ResourceContents } from '../protocol/content.ts';
import type { Dialect } from '../protocol/dialects/dialect.ts';
import { faultOfContents } from './content-check.ts';

/**
 * Reads what a `read` gave for a URI.
 *
 * @throws {TypeError} saying what it gave instead
 */
export function readContents(
  output: unknown,
  { uri, mimeType }: { readonly uri: string; readonly mimeType: string | undefined },
  dialect: Dialect,
): readonly ResourceContents[] {
  const described = { uri, ...(mimeType === undefined ? {} : { mimeType }) };
  if (typeof output === 'string') return [{ ...described, text: output }];
  if (output instanceof Uint8Array) return [{ ...described, blob: base64(output) }];
  if (!Array.isArray(output)) {
    throw new TypeError(
      `reading ${describe(uri)} must give a string, bytes or a list of contents; this is ${describe(output)}`,
    );
  }
  for (const [at, contents] of output.entries()) {
    const fault = faultOfContents(contents);
    if (fault !== undefined) throw new TypeError(`contents ${at} of ${describe(uri)} ${fault}`);
  }
  return (output as readonly ResourceContents[]).map((contents) => dialect.contents(contents));
}

/** So many at once are arguments of one function call. */
const chunkBytes = 0x6000;

function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)));
  }
  return text;
}
