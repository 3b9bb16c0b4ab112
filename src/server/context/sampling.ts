/**
 * Asks a client's language model to continue a conversation, and reads what it generated.
 *
 * @see MCP 2025-11-25, client/sampling
 */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { ContentBlock } from '../../protocol/content.ts';
import type { ConversationItem } from '../../protocol/dialects/dialect.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { validateToolUses } from '../../protocol/tool-uses.ts';
import { jsonSchemaOf } from '../../../packages/schema/src/schema.ts';
import type { Schema } from '../../../packages/schema/src/schema.ts';

interface BlockDetails {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** The model's wish to use a tool. */
export interface ToolUse {
  /** Tells it from other blocks. */
  readonly type: 'tool_use';
  /** The result refers to it by `toolUseId`. */
  readonly id: string;
  /** The tool that the model wants to use. */
  readonly name: string;
  /** The arguments, as the model wrote them: unchecked. */
  readonly input: JsonObject;
  /** Keep it when you send the use back: clients cache by it. */
  readonly _meta?: JsonObject;
}

/** The result of a tool that the model wanted to use. */
export interface ToolUseResult {
  /** Tells it from other blocks. */
  readonly type: 'tool_result';
  /** The `id` of the {@link ToolUse} that it answers. */
  readonly toolUseId: string;
  /** What the model reads. */
  readonly content: readonly ContentBlock[];
  /** The same for programs. */
  readonly structuredContent?: JsonObject;
  /** Whether the tool failed; by default it did not. */
  readonly isError?: boolean;
  /** Keep what you got: clients cache by it. */
  readonly _meta?: JsonObject;
}

/** A block of a sampling message: text, a picture, sound, the use of a tool, or its result. */
export type SamplingBlock =
  | ({ readonly type: 'text'; readonly text: string } & BlockDetails)
  | ({
      readonly type: 'image' | 'audio';
      readonly data: string;
      readonly mimeType: string;
    } & BlockDetails)
  | ToolUse
  | ToolUseResult;

/** One message of the conversation that the model continues. */
export interface SamplingMessage {
  /** Who says it. */
  readonly role: 'user' | 'assistant';
  /**
   * A text, a block or several. Tool results stand alone: one for each use in the previous message.
   */
  readonly content: string | SamplingBlock | readonly SamplingBlock[];
  /** Anything else, under prefixed keys, passed on as it is. */
  readonly _meta?: JsonObject;
}

/** A tool that the model may ask for. The handler runs it. */
export interface SamplingTool {
  /** What the model names in a {@link ToolUse}. */
  readonly name: string;
  /** For people. */
  readonly title?: string;
  /** For the model: what the tool does, and when to use it. */
  readonly description?: string;
  /** What the model's `input` should conform to. */
  readonly inputSchema: Schema;
}

/** Hints: the client chooses the model. */
export interface ModelPreferences {
  /** Models or parts of their names, the preferred ones first. */
  readonly hints?: readonly { readonly name?: string }[];
  /** 0 to 1. */
  readonly costPriority?: number;
  /** 0 to 1. */
  readonly speedPriority?: number;
  /** 0 to 1. */
  readonly intelligencePriority?: number;
}

/**
 * What a model is asked to generate.
 *
 * @see MCP 2025-11-25, client/sampling
 */
export interface SamplingRequest {
  /** The conversation so far, oldest first. */
  readonly messages: readonly SamplingMessage[];
  /** The most tokens that the model may generate. */
  readonly maxTokens: number;
  /** The client may change it or ignore it. */
  readonly systemPrompt?: string;
  /** Which model would suit. The client chooses. */
  readonly modelPreferences?: ModelPreferences;
  /**
   * Any value but `none` needs the client's `sampling.context`, if its revision has that
   * capability.
   */
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
  /** In the model's own range; the client may change or ignore it. */
  readonly temperature?: number;
  /** Texts that end the generation. */
  readonly stopSequences?: readonly string[];
  /** For the model's provider, in the provider's own terms. */
  readonly metadata?: JsonObject;
  /** Needs the client's `sampling.tools`. */
  readonly tools?: readonly SamplingTool[];
  /** Needs the client's `sampling.tools`. */
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' };
}

/** What the model generated. */
export interface Sample {
  /** Who speaks: a model as a rule. */
  readonly role: 'user' | 'assistant';
  /** All blocks in order; a list even if the client sent a single block. */
  readonly content: readonly SamplingBlock[];
  /** The text of all text blocks; empty if there are none. */
  readonly text: string;
  /** The tools that the model wants to use, in order. */
  readonly toolUses: readonly ToolUse[];
  /** The model that the client chose. */
  readonly model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a value of the provider's own. */
  readonly stopReason?: string;
}

/**
 * Checks a request before it is sent, and brings its shorthands into one form.
 *
 * @throws {TypeError} the protocol does not allow the request; the message says why
 * @see MCP 2025-11-25, client/sampling, "Message Content Constraints"
 */
export function readConversation(request: SamplingRequest): ConversationItem {
  const { maxTokens, modelPreferences = {}, tools, toolChoice, ...rest } = request;
  const { messages } = request;
  // Types do not bind a handler in JavaScript.
  if (!isList(messages)) {
    throw new TypeError(`messages must be a list, this is ${inspectValue(messages)}`);
  }
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1) {
    throw new TypeError(
      `maxTokens must be a whole number from 1 on, this is ${inspectValue(maxTokens)}`,
    );
  }
  for (const name of ['costPriority', 'speedPriority', 'intelligencePriority'] as const) {
    const priority = modelPreferences[name];
    if (priority === undefined || (priority >= 0 && priority <= 1)) continue;
    throw new TypeError(`${name} must be from 0 to 1, this is ${inspectValue(priority)}`);
  }
  const blocks = messages.map(({ content }) => blocksOf(content));
  const turns = messages.map(({ role, _meta }, at) => ({ role, content: blocks[at] ?? [], _meta }));
  const fault = validateToolUses(turns);
  if (fault !== undefined) throw new TypeError(fault);
  return {
    ...rest,
    messages: turns,
    maxTokens,
    ...(request.modelPreferences ? { modelPreferences } : {}),
    ...(tools ? { tools: tools.map(describeTool) } : {}),
    ...(toolChoice ? { toolChoice } : {}),
  };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function blocksOf(content: SamplingMessage['content']): readonly SamplingBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return isList(content) ? content : [content];
}

function describeTool({ name, title, description, inputSchema }: SamplingTool): JsonObject {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema: jsonSchemaOf(
      inputSchema,
      'input',
      `The inputSchema of the tool ${inspectValue(name)}`,
    ),
  };
}

/**
 * Reads the client's result: a single block becomes a list.
 *
 * @throws {RuntimeError} INVALID_RESPONSE saying what is wrong and at which place
 */
export function readSample(result: JsonObject): Sample {
  const { role, model, stopReason, content } = result;
  if (role !== 'user' && role !== 'assistant') {
    throw invalid(`"role" must be "user" or "assistant", this is ${inspectValue(role)}`);
  }
  if (typeof model !== 'string')
    throw invalid(`"model" must be a string, this is ${inspectValue(model)}`);
  const blocks = isList(content)
    ? content.map((block, at) => readBlock(block, `content[${at}]`))
    : [readBlock(content, 'content')];
  return {
    role,
    content: blocks,
    text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    toolUses: blocks.flatMap((block) => (block.type === 'tool_use' ? [block] : [])),
    model,
    ...(typeof stopReason === 'string' ? { stopReason } : {}),
  };
}

/** What is wrong with a client's result; undefined if nothing is. */
export function validateSample(result: JsonObject): string | undefined {
  try {
    readSample(result);
    return undefined;
  } catch (error) {
    if (error instanceof RuntimeError) return `is refused: ${error.message}`;
    throw error;
  }
}

type Test = (value: unknown) => boolean;
const isString: Test = (value) => typeof value === 'string';

/** The members that a block of each type must have. */
const members: { readonly [type: string]: { readonly [member: string]: Test } } = {
  text: { text: isString },
  image: { data: isString, mimeType: isString },
  audio: { data: isString, mimeType: isString },
  tool_use: { id: isString, name: isString, input: isJsonObject },
  tool_result: { toolUseId: isString, content: Array.isArray },
};

function readBlock(block: unknown, place: string): SamplingBlock {
  checkBlock(block, place);
  return block;
}

function checkBlock(block: unknown, place: string): asserts block is SamplingBlock {
  if (!isJsonObject(block))
    throw invalid(`${place} must be a block, this is ${inspectValue(block)}`);
  const { type } = block;
  if (typeof type !== 'string' || !Object.hasOwn(members, type)) {
    const known = Object.keys(members).join(', ');
    throw invalid(`${place} must have a type of ${known}; this is ${inspectValue(type)}`);
  }
  for (const [member, isRight] of Object.entries(members[type] ?? {})) {
    if (isRight(block[member])) continue;
    throw invalid(`${place} is a ${type} with a wrong "${member}": ${inspectValue(block[member])}`);
  }
}

function invalid(fault: string): RuntimeError {
  const message = `The client's result of sampling/createMessage is malformed: ${fault}`;
  return new RuntimeError('INVALID_RESPONSE', message);
}
