/**
 * What a handler asks a language model for, through its client, and what comes back.
 *
 * @see MCP 2025-11-25, client/sampling
 */
import type { ContentBlock } from '../protocol/content.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Schema } from '../schema/schema.ts';

interface Described {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** A tool that the model wants to be used. */
export interface ToolUse {
  readonly type: 'tool_use';
  /** What its result names in `toolUseId`. */
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Keep it where the use is sent back: clients cache by it. */
  readonly _meta?: JsonObject;
}

/** What a tool that the model wanted has given. */
export interface ToolUseResult {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export type SamplingBlock =
  | ({ readonly type: 'text'; readonly text: string } & Described)
  | ({
      readonly type: 'image' | 'audio';
      readonly data: string;
      readonly mimeType: string;
    } & Described)
  | ToolUse
  | ToolUseResult;

/** One message of the conversation that the model goes on with. */
export interface SamplingMessage {
  readonly role: 'user' | 'assistant';
  /** A text, a block or several. Results of tools stand alone, one for each use in the message before. */
  readonly content: string | SamplingBlock | readonly SamplingBlock[];
  readonly _meta?: JsonObject;
}

/** A tool that the model may want to be used; the handler uses it. */
export interface SamplingTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Schema;
}

/** Hints; the client chooses the model. */
export interface ModelPreferences {
  /** In order of preference; each may be a part of a model's name. */
  readonly hints?: readonly { readonly name?: string }[];
  /** 0 to 1. */
  readonly costPriority?: number;
  /** 0 to 1. */
  readonly speedPriority?: number;
  /** 0 to 1. */
  readonly intelligencePriority?: number;
}

export interface SamplingRequest {
  readonly messages: readonly SamplingMessage[];
  /** The most that may be generated, tokens. */
  readonly maxTokens: number;
  /** The client may change it or leave it out. */
  readonly systemPrompt?: string;
  readonly modelPreferences?: ModelPreferences;
  /** Other than `none` needs the client's `sampling.context`, where its revision has that. */
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  /** For the model's provider, in its own terms. */
  readonly metadata?: JsonObject;
  /** Needs the client's `sampling.tools`. */
  readonly tools?: readonly SamplingTool[];
  /** Needs the client's `sampling.tools`. */
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' };
}

/** What the model has generated. */
export interface Sample {
  readonly role: 'user' | 'assistant';
  /** Every block, in order, also where the client sent but one. */
  readonly content: readonly SamplingBlock[];
  /** The text of all text blocks; empty where there is none. */
  readonly text: string;
  /** The tools that the model wants to be used, in order. */
  readonly toolUses: readonly ToolUse[];
  readonly model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a provider's own. */
  readonly stopReason?: string;
}
