/**
 * What a tool's handler gave, checked and brought into one form. A handler is user code: what it gives may be anything.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
import { describe, isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ContentBlock } from '../content.ts';

export interface CheckedOutput {
  readonly content: readonly ContentBlock[];
  readonly structured: JsonObject | undefined;
  readonly isError: boolean;
  readonly _meta: JsonObject | undefined;
}

/**
 * Reads a handler's output.
 *
 * @throws {TypeError} saying what it gave instead
 */
export function readToolOutput(output: unknown): CheckedOutput {
  if (typeof output === 'string') return plain([textBlock(output)]);
  if (Array.isArray(output)) return plain(readBlocks(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `a tool gives a string, content blocks, or an object with "content" or "structured"; this is ${describe(output)}`,
    );
  }
  const { content, structured, isError, _meta } = output;
  if (structured !== undefined && !isJsonObject(structured)) {
    throw new TypeError(`"structured" must be an object, this is ${describe(structured)}`);
  }
  if (content === undefined && structured === undefined) {
    throw new TypeError('a tool gives "content" or "structured"; this has neither');
  }
  return {
    content: content === undefined ? [textBlock(JSON.stringify(structured))] : readBlocks(content),
    structured,
    isError: isError === true,
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

function plain(content: readonly ContentBlock[]): CheckedOutput {
  return { content, structured: undefined, isError: false, _meta: undefined };
}

export function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}

/** The members that a block of each type must have, all of them strings but `resource`. */
const members: { readonly [type: string]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

function readBlocks(content: unknown): readonly ContentBlock[] {
  if (!Array.isArray(content)) {
    throw new TypeError(`"content" must be a list of blocks, this is ${describe(content)}`);
  }
  for (const [at, block] of content.entries()) {
    const fault = faultOf(block);
    if (fault !== undefined) throw new TypeError(`content block ${at} ${fault}`);
  }
  return content as readonly ContentBlock[];
}

function faultOf(block: unknown): string | undefined {
  if (!isJsonObject(block)) return `must be an object, this is ${describe(block)}`;
  const { type } = block;
  const needed = typeof type === 'string' && Object.hasOwn(members, type) && members[type];
  if (!needed) {
    return `must have a type of ${Object.keys(members).join(', ')}; this is ${describe(type)}`;
  }
  if (type === 'resource' && !isJsonObject(block['resource'])) {
    return `must have a "resource" that is an object, this is ${describe(block['resource'])}`;
  }
  const missing = needed.find((member) => typeof block[member] !== 'string');
  if (missing === undefined) return undefined;
  return `must have a string "${missing}", this is ${describe(block[missing])}`;
}
