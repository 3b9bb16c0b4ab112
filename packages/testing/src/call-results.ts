/** Results of a session in a convenient form for tests. */
import type { ContentBlock, ResourceContents } from '../../../src/protocol/content.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { Completion } from '../../../src/protocol/list-items.ts';
import type { PromptMessage } from '../../../src/server/define/prompt.ts';

/** A tool's result. */
export interface CallResult<TStructured = JsonObject> {
  /** The text blocks, joined by line feeds. */
  readonly text: string;
  /** The content blocks, in order. */
  readonly content: readonly ContentBlock[];
  /**
   * `structuredContent`, which matches the tool's `outputSchema`. Undefined for errors and before
   * 2025-06-18.
   */
  readonly structured: TStructured | undefined;
  /** True if the tool reports a failure. */
  readonly isError: boolean;
  /** The raw result. */
  readonly raw: JsonObject;
}

export function readCallResult(raw: JsonObject): CallResult {
  const content = (raw['content'] ?? []) as readonly ContentBlock[];
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return {
    text: texts.join('\n'),
    content,
    structured: raw['structuredContent'] as JsonObject | undefined,
    isError: raw['isError'] === true,
    raw,
  };
}

/** The contents of a resource. */
export interface ResourceResult {
  /** The texts, joined by line feeds. */
  readonly text: string;
  /** All contents in order. */
  readonly contents: readonly ResourceContents[];
}

export function readResourceResult(raw: JsonObject): ResourceResult {
  const contents = (raw['contents'] ?? []) as readonly ResourceContents[];
  const texts = contents.flatMap((item) => ('text' in item ? [item.text] : []));
  return { text: texts.join('\n'), contents };
}

/** A prompt's messages. */
export interface PromptResult {
  /** Description, if any. */
  readonly description: string | undefined;
  /** The messages, in order. */
  readonly messages: readonly PromptMessage[];
}

export function readPromptResult(raw: JsonObject): PromptResult {
  return {
    description: raw['description'] as string | undefined,
    messages: (raw['messages'] ?? []) as readonly PromptMessage[],
  };
}

export function readCompletion(raw: JsonObject): Completion {
  const { values, total, hasMore } = (raw['completion'] ?? {}) as Partial<Completion>;
  return {
    values: values ?? [],
    ...(total === undefined ? {} : { total }),
    hasMore: hasMore === true,
  };
}
