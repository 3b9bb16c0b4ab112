/** Results that a session sent, in the shape in which tests read them. */
import type { Icon } from '../protocol/described.ts';
import type { ContentBlock, ResourceContents } from '../protocol/content.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Annotations } from '../define/resource.ts';
import type { PromptMessage } from '../define/prompt.ts';
import type { ToolAnnotations } from '../define/tool.ts';

interface ListedItem {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
}

export interface ListedTool extends ListedItem {
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
}

export interface ListedResource extends ListedItem {
  readonly uri: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: Annotations;
}

export interface ListedResourceTemplate extends ListedItem {
  readonly uriTemplate: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
}

export interface ListedPrompt extends ListedItem {
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

/** A tool's result. */
export interface CallResult<TStructured = JsonObject> {
  /** The text blocks, joined by line feeds. */
  readonly text: string;
  readonly content: readonly ContentBlock[];
  /**
   * `structuredContent`, which has passed the tool's `outputSchema`. An error has none, nor has any
   * result before 2025-06-18.
   */
  readonly structured: TStructured | undefined;
  readonly isError: boolean;
  /** The result as it came. */
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
  readonly contents: readonly ResourceContents[];
}

export function readResourceResult(raw: JsonObject): ResourceResult {
  const contents = (raw['contents'] ?? []) as readonly ResourceContents[];
  const texts = contents.flatMap((item) => ('text' in item ? [item.text] : []));
  return { text: texts.join('\n'), contents };
}

export interface PromptResult {
  readonly description: string | undefined;
  readonly messages: readonly PromptMessage[];
}

export function readPromptResult(raw: JsonObject): PromptResult {
  return {
    description: raw['description'] as string | undefined,
    messages: (raw['messages'] ?? []) as readonly PromptMessage[],
  };
}

export interface Completion {
  readonly values: readonly string[];
  /** How many values there are in all, if the server says so. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
}

export function readCompletion(raw: JsonObject): Completion {
  const { values, total, hasMore } = (raw['completion'] ?? {}) as Partial<Completion>;
  return { values: values ?? [], total, hasMore: hasMore === true };
}
