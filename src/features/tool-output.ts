/**
 * What a tool's handler gave, checked and brought into one form. A handler is user code: what it gives may be anything.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import { textBlock } from '../protocol/content.ts';
import type { ContentBlock } from '../protocol/content.ts';
import type { JsonObject } from '../protocol/frames.ts';

import { faultOfBlock } from './content-check.ts';

export interface CheckedOutput {
  /** Where absent, it is `structured` as JSON text: what has passed the `outputSchema`, defaults and transforms included. */
  readonly content: readonly ContentBlock[] | undefined;
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
    content: content === undefined ? undefined : readBlocks(content),
    structured,
    isError: isError === true,
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

function plain(content: readonly ContentBlock[]): CheckedOutput {
  return { content, structured: undefined, isError: false, _meta: undefined };
}

function readBlocks(content: unknown): readonly ContentBlock[] {
  if (!Array.isArray(content)) {
    throw new TypeError(`"content" must be a list of blocks, this is ${describe(content)}`);
  }
  for (const [at, block] of content.entries()) {
    const fault = faultOfBlock(block);
    if (fault !== undefined) throw new TypeError(`content block ${at} ${fault}`);
  }
  return content as readonly ContentBlock[];
}
