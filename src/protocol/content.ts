/**
 * Content of tool results, prompts and resources, in the form of the latest revision.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
import type { JsonObject } from './frames.ts';

interface Annotated {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/**
 * A block of content: text, an image, audio, a link to a resource, or a resource itself.
 *
 * @see MCP 2025-11-25, schema, "ContentBlock"
 */
export type ContentBlock =
  | ({ readonly type: 'text'; readonly text: string } & Annotated)
  | ({ readonly type: 'image'; readonly data: string; readonly mimeType: string } & Annotated)
  | ({ readonly type: 'audio'; readonly data: string; readonly mimeType: string } & Annotated)
  | ({
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly title?: string;
      readonly description?: string;
      readonly mimeType?: string;
      readonly size?: number;
    } & Annotated)
  | ({ readonly type: 'resource'; readonly resource: ResourceContents } & Annotated);

/** The contents of a resource: text, or base64 in `blob`. */
export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: JsonObject;
} & ({ readonly text: string } | { readonly blob: string });

/** Bytes per function call, limited by the number of arguments; a multiple of three. */
const chunkBytes = 0x6000;

/** Encodes bytes as base64, without Node APIs. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)));
  }
  return text;
}

/** The bytes of resource contents; undefined if they are neither text nor base64. */
export function bytesOf(contents: { readonly text?: unknown; readonly blob?: unknown }) {
  const { text, blob } = contents;
  if (typeof text === 'string') return new TextEncoder().encode(text);
  if (typeof blob !== 'string') return undefined;
  try {
    return Uint8Array.from(atob(blob), (letter) => letter.charCodeAt(0));
  } catch {
    // Not base64.
    return undefined;
  }
}

/** Decodes UTF-8 losslessly, including a byte order mark; undefined if the bytes are not UTF-8. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}
