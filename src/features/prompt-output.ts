/**
 * What a prompt gave, checked and brought into one form. It is user code: what it gives may be anything.
 *
 * @see MCP 2025-11-25, server/prompts, "PromptMessage"
 */
import { describe, isJsonObject } from '../protocol/classify.ts';
import { textBlock } from '../protocol/content.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { PromptMessage } from '../define/prompt.ts';
import { faultOfBlock } from './content-check.ts';

export interface CheckedPrompt {
  readonly description: string | undefined;
  readonly messages: readonly PromptMessage[];
  readonly _meta: JsonObject | undefined;
}

/**
 * Reads a prompt's output.
 *
 * @throws {TypeError} saying what it gave instead
 */
export function readPromptOutput(output: unknown): CheckedPrompt {
  if (typeof output === 'string') return plain([{ role: 'user', content: textBlock(output) }]);
  if (Array.isArray(output)) return plain(readMessages(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `a prompt gives a string, messages, or an object with "messages"; this is ${describe(output)}`,
    );
  }
  const { description, messages, _meta } = output;
  if (description !== undefined && typeof description !== 'string') {
    throw new TypeError(`"description" must be a string, this is ${describe(description)}`);
  }
  return {
    description,
    messages: readMessages(messages),
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

function plain(messages: readonly PromptMessage[]): CheckedPrompt {
  return { description: undefined, messages, _meta: undefined };
}

function readMessages(messages: unknown): readonly PromptMessage[] {
  if (!Array.isArray(messages)) {
    throw new TypeError(`"messages" must be a list, this is ${describe(messages)}`);
  }
  for (const [at, message] of messages.entries()) {
    const fault = faultOfMessage(message);
    if (fault !== undefined) throw new TypeError(`message ${at} ${fault}`);
  }
  return messages as readonly PromptMessage[];
}

function faultOfMessage(message: unknown): string | undefined {
  if (!isJsonObject(message)) return `must be an object, this is ${describe(message)}`;
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant') {
    return `must have the role "user" or "assistant", this is ${describe(role)}`;
  }
  const fault = faultOfBlock(content);
  return fault === undefined ? undefined : `has a "content" that ${fault}`;
}
