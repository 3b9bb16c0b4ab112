/**
 * What a tool gives back.
 *
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
import type { ContentBlock } from '../protocol/content.ts';
import type { JsonObject } from '../protocol/frames.ts';

/** A tool's result in full. `structured` must conform to the tool's `outputSchema`; its text form is added where `content` is absent. */
export interface ToolResult {
  readonly content?: readonly ContentBlock[];
  readonly structured?: object;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** What a handler may return: a text, content blocks, or a whole result. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult;
