/** Constructors of content blocks. */
import { inspectValue } from '../../protocol/classify.ts';
import { base64, textBlock } from '../../protocol/content.ts';
import type { ContentBlock, ResourceContents } from '../../protocol/content.ts';

/** The block type with this discriminator. */
type BlockOf<TType extends ContentBlock['type']> = Extract<ContentBlock, { type: TType }>;

function media<TType extends 'image' | 'audio'>(type: TType, bytes: Uint8Array, mimeType: string) {
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`content.${type}: bytes must be a Uint8Array, got ${inspectValue(bytes)}`);
  }
  if (typeof mimeType !== 'string') {
    throw new TypeError(
      `content.${type}: mimeType must be a string such as "${type === 'image' ? 'image/png' : 'audio/wav'}", got ${inspectValue(mimeType)}`,
    );
  }
  return { type, data: base64(bytes), mimeType };
}

/**
 * Content block constructors. A tool returns a list of blocks; a prompt message has one.
 * `content.error` returns a complete tool result.
 *
 * ```ts
 * handler: async () => [content.text('The plan:'), content.image(await draw(), 'image/png')]
 * ```
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export const content = {
  /** Creates a text block. */
  text: textBlock,

  /**
   * Creates an image block from raw bytes.
   *
   * @throws {TypeError} if `bytes` is not a Uint8Array or the MIME type is missing
   */
  image(bytes: Uint8Array, mimeType: string): BlockOf<'image'> {
    return media('image', bytes, mimeType);
  },

  /**
   * Creates an audio block from raw bytes.
   *
   * @throws {TypeError} if `bytes` is not a Uint8Array or the MIME type is missing
   */
  audio(bytes: Uint8Array, mimeType: string): BlockOf<'audio'> {
    return media('audio', bytes, mimeType);
  },

  /** Creates a link to a resource that the client can read. */
  link(resource: Omit<BlockOf<'resource_link'>, 'type'>): BlockOf<'resource_link'> {
    return { type: 'resource_link', ...resource };
  },

  /** Embeds a resource with its contents. */
  resource(resource: ResourceContents): BlockOf<'resource'> {
    return { type: 'resource', resource };
  },

  /** Creates an error result that the model can read. Throwing a `ToolError` has the same effect. */
  error(text: string): { readonly content: readonly ContentBlock[]; readonly isError: true } {
    return { content: [textBlock(text)], isError: true };
  },
};
