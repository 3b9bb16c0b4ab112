/**
 * A request for sampling, checked before anything is sent.
 *
 * @see MCP 2025-11-25, client/sampling, "Message Content Constraints"
 */
import { describe } from '../protocol/classify.ts';
import type { ConversationItem } from '../protocol/dialects/dialect.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { jsonSchemaOf } from '../schema/schema.ts';
import type { SamplingBlock, SamplingMessage, SamplingRequest, SamplingTool } from './sampling.ts';

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
