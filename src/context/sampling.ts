/**
 * What a handler asks a language model for, through its client, and what comes back.
 *
 * @see MCP 2025-11-25, client/sampling
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import type { ContentBlock } from '../protocol/content.ts';
import type { ConversationItem } from '../protocol/dialects/dialect.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { jsonSchemaOf } from '../schema/schema.ts';
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

/**
 * A request for sampling in one shape, whichever way its author wrote it.
 *
 * @throws {TypeError} a request that no client may be sent, naming what is wrong
 */
export function readConversation(request: SamplingRequest): ConversationItem {
  const { maxTokens, modelPreferences = {}, tools, toolChoice, ...rest } = request;
  const messages: readonly SamplingMessage[] = listOf(request.messages);
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1) {
    throw new TypeError(
      `maxTokens must be a whole number from 1 on, this is ${describe(maxTokens)}`,
    );
  }
  for (const name of ['costPriority', 'speedPriority', 'intelligencePriority'] as const) {
    const priority = modelPreferences[name];
    if (priority === undefined || (priority >= 0 && priority <= 1)) continue;
    throw new TypeError(`${name} must be from 0 to 1, this is ${describe(priority)}`);
  }
  const blocks = messages.map(({ content }) => blocksOf(content));
  checkToolUses(messages, blocks);
  return {
    ...rest,
    messages: messages.map(({ role, _meta }, at) => ({ role, content: blocks[at] ?? [], _meta })),
    maxTokens,
    ...(request.modelPreferences ? { modelPreferences } : {}),
    ...(tools ? { tools: tools.map(describeTool) } : {}),
    ...(toolChoice ? { toolChoice } : {}),
  };
}

/** What the types forbid is checked too: a handler may be written in JavaScript. */
function listOf<T>(messages: readonly T[]): readonly T[] {
  if (!Array.isArray(messages as unknown)) {
    throw new TypeError(`messages must be a list, this is ${describe(messages)}`);
  }
  return messages;
}

function blocksOf(content: SamplingMessage['content']): readonly SamplingBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content)
    ? (content as readonly SamplingBlock[])
    : [content as SamplingBlock];
}

function describeTool({ name, title, description, inputSchema }: SamplingTool): JsonObject {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema: jsonSchemaOf(
      inputSchema,
      'input',
      `The inputSchema of the tool ${describe(name)}`,
    ),
  };
}

/** Every use of a tool is followed at once by its result, in a message of results alone. */
function checkToolUses(
  messages: readonly SamplingMessage[],
  blocks: readonly (readonly SamplingBlock[])[],
): void {
  let open: readonly string[] = [];
  for (const [at, content] of blocks.entries()) {
    const role = messages[at]?.role;
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block] : []));
    const given = results.map(({ toolUseId }) => toolUseId);
    if (results.length > 0 && (results.length < content.length || role !== 'user')) {
      throw new TypeError(
        `messages[${at}] has results of tools: such a message is the user's and has nothing else`,
      );
    }
    const missing = open.find((id) => !given.includes(id));
    if (missing !== undefined) {
      throw new TypeError(
        `messages[${at}] must be the results of the tools used before; that of ${describe(missing)} is missing`,
      );
    }
    const stray = given.find((id, n) => !open.includes(id) || given.indexOf(id) !== n);
    if (stray !== undefined) {
      throw new TypeError(
        `messages[${at}] has a result for ${describe(stray)}, which the message before does not use, or two`,
      );
    }
    const uses = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    if (uses.length > 0 && role !== 'assistant') {
      throw new TypeError(`messages[${at}] uses a tool, which only the assistant does`);
    }
    open = uses;
  }
  if (open.length === 0) return;
  throw new TypeError(`The last message uses ${describe(open[0])}: its result must follow`);
}

/**
 * The result of sampling in one shape.
 *
 * @throws {RuntimeError} INVALID_RESPONSE with what is wrong, and where
 */
export function readSample(result: JsonObject): Sample {
  const { role, model, stopReason, content } = result;
  if (role !== 'user' && role !== 'assistant') {
    throw invalid(`"role" must be "user" or "assistant", this is ${describe(role)}`);
  }
  if (typeof model !== 'string')
    throw invalid(`"model" must be a string, this is ${describe(model)}`);
  const list: readonly unknown[] = Array.isArray(content) ? content : [content];
  const blocks = list.map((block, at) =>
    readBlock(block, Array.isArray(content) ? `content[${at}]` : 'content'),
  );
  return {
    role,
    content: blocks,
    text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    toolUses: blocks.flatMap((block) => (block.type === 'tool_use' ? [block] : [])),
    model,
    ...(typeof stopReason === 'string' ? { stopReason } : {}),
  };
}

type Test = (value: unknown) => boolean;
const isString: Test = (value) => typeof value === 'string';

/** What each type of block must have. */
const members: { readonly [type: string]: { readonly [member: string]: Test } } = {
  text: { text: isString },
  image: { data: isString, mimeType: isString },
  audio: { data: isString, mimeType: isString },
  tool_use: { id: isString, name: isString, input: isJsonObject },
  tool_result: { toolUseId: isString, content: Array.isArray },
};

function readBlock(block: unknown, where: string): SamplingBlock {
  if (!isJsonObject(block)) throw invalid(`${where} must be a block, this is ${describe(block)}`);
  const { type } = block;
  const needed =
    typeof type === 'string' && Object.hasOwn(members, type) ? members[type] : undefined;
  if (!needed) {
    const known = Object.keys(members).join(', ');
    throw invalid(`${where} must have a type of ${known}; this is ${describe(type)}`);
  }
  for (const [member, isRight] of Object.entries(needed)) {
    if (isRight(block[member])) continue;
    throw invalid(
      `${where} is a ${type as string} with a wrong "${member}": ${describe(block[member])}`,
    );
  }
  return block as unknown as SamplingBlock;
}

function invalid(fault: string): RuntimeError {
  const message = `The client's result of sampling/createMessage is malformed: ${fault}`;
  return new RuntimeError('INVALID_RESPONSE', message);
}
