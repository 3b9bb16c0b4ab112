/** Content made from what a handler has. */
import { inspectValue } from '../../protocol/classify.ts';
import { base64, textBlock } from '../../protocol/content.ts';
import type { ContentBlock, ResourceContents } from '../../protocol/content.ts';

/** A block of one type. */
type BlockOf<TType extends ContentBlock['type']> = Extract<ContentBlock, { type: TType }>;

function media<TType extends 'image' | 'audio'>(type: TType, bytes: Uint8Array, mimeType: string) {
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(
      `content.${type} takes bytes, a Uint8Array; this is ${inspectValue(bytes)}`,
    );
  }
  if (typeof mimeType !== 'string') {
    throw new TypeError(
      `content.${type} takes the type after the bytes, such as "${type === 'image' ? 'image/png' : 'audio/wav'}"; this is ${inspectValue(mimeType)}`,
    );
  }
  return { type, data: base64(bytes), mimeType };
}

/**
 * Makes content blocks: a tool returns a list of them, a prompt's message has one. `content.error`
 * makes a whole result.
 *
 * ```ts
 * handler: async () => [content.text('The plan:'), content.image(await draw(), 'image/png')]
 * ```
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export const content = {
  text: textBlock,

  /** @throws {TypeError} `bytes` is not a Uint8Array, or there is no MIME type */
  image(bytes: Uint8Array, mimeType: string): BlockOf<'image'> {
    return media('image', bytes, mimeType);
  },

  /** @throws {TypeError} `bytes` is not a Uint8Array, or there is no MIME type */
  audio(bytes: Uint8Array, mimeType: string): BlockOf<'audio'> {
    return media('audio', bytes, mimeType);
  },

  /** A link to a resource, which a client may read. */
  link(resource: Omit<BlockOf<'resource_link'>, 'type'>): BlockOf<'resource_link'> {
    return { type: 'resource_link', ...resource };
  },

  /** A resource with its contents. */
  resource(resource: ResourceContents): BlockOf<'resource'> {
    return { type: 'resource', resource };
  },

  /** A tool's result that tells the model what went wrong. Throwing a `ToolError` does the same. */
  error(text: string): { readonly content: readonly ContentBlock[]; readonly isError: true } {
    return { content: [textBlock(text)], isError: true };
  },
};
