/**
 * Content in the form of the latest revision: of tool results, prompts and resources.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
import type { JsonObject } from './frames.ts';

interface Annotated {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/**
 * A block of content: text, a picture, sound, a link to a resource, or a resource itself.
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

/** As many bytes as one function call takes as arguments, in whole groups of three. */
const chunkBytes = 0x6000;

/** Bytes as base64, without Node. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)));
  }
  return text;
}

export function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}
