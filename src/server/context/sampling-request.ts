/**
 * A request for sampling as a revision's clients know it, checked before anything is sent.
 *
 * @see MCP 2025-11-25, client/sampling, "Message Content Constraints"
 */
import { describe } from '../../protocol/classify.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import { jsonSchemaOf } from '../schema.ts';
import type { SamplingBlock, SamplingMessage, SamplingRequest, SamplingTool } from './sampling.ts';

/**
 * The params of `sampling/createMessage`.
 *
 * @throws {TypeError} a request that no client may be sent, naming what is wrong
 * @throws {RuntimeError} CAPABILITY_MISSING for content that the revision does not know
 */
export function samplingParams(request: SamplingRequest, revision: Revision): JsonObject {
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
  checkAudio(blocks, revision);
  return {
    ...rest,
    messages: messages.flatMap((message, at) => wireMessages(message, blocks[at] ?? [], revision)),
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

/** Where a message has one block only, one message for each block says the same. */
function wireMessages(
  { role, _meta }: SamplingMessage,
  blocks: readonly SamplingBlock[],
  { samplingTools }: Revision,
): readonly JsonObject[] {
  if (!samplingTools) return blocks.map((content) => ({ role, content }));
  const content = blocks.length === 1 ? blocks[0] : blocks;
  return [{ role, content, ...(_meta ? { _meta } : {}) }];
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

function checkAudio(messages: readonly (readonly SamplingBlock[])[], { audio, version }: Revision) {
  if (audio || !messages.flat().some(({ type }) => type === 'audio')) return;
  const message = `Revision ${version} has no audio, and a message contains some; nothing was sent`;
  throw new RuntimeError('CAPABILITY_MISSING', message);
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
