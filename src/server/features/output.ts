/** Validation and normalization of handler results, which are user code and may return anything. */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { base64, textBlock } from '../../protocol/content.ts';
import type { ContentBlock, ResourceContents } from '../../protocol/content.ts';
import type { Dialect, ToolResultItem } from '../../protocol/dialects/dialect.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { PromptMessage } from '../define/prompt.ts';

/**
 * Parses the return value of a tool handler.
 *
 * @throws {TypeError} naming the problem
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export function readToolOutput(output: unknown, tool: string): ToolResultItem {
  if (typeof output === 'string') return contentOnly([{ type: 'text', text: output }]);
  if (Array.isArray(output)) return contentOnly(readBlocks(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `the result of the tool "${tool}" must be a string, content blocks, or an object with "content" or "structured", got ${output === undefined ? 'undefined' : inspectValue(output)}`,
    );
  }
  const { content, structured, isError, _meta } = output;
  if (output['structuredContent'] !== undefined && structured === undefined) {
    throw new TypeError('"structuredContent" of a tool result is unknown: use "structured"');
  }
  if (structured !== undefined) assertStructured(structured, tool);
  if (content === undefined && structured === undefined) {
    throw new TypeError('the result of a tool must have "content" or "structured", got neither');
  }
  return {
    content: content === undefined ? undefined : readBlocks(content),
    structured,
    isError: isError === true,
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

/** @throws {TypeError} if JSON would not represent the value as an object with all its entries */
function assertStructured(value: unknown, tool: string): asserts value is JsonObject {
  if (!isJsonObject(value)) {
    throw new TypeError(`${tool}: "structured" must be an object, got ${inspectValue(value)}`);
  }
  const lost = value instanceof Date ? '' : findLossy(value);
  if (lost === undefined) return;
  throw new TypeError(
    `${tool}: "structured${lost}" must be plain JSON, got a Date, Map or Set: convert it first`,
  );
}

/** Path of the first Map or Set, whose entries JSON would lose. */
function findLossy(value: object, depth = 0): string | undefined {
  if (value instanceof Map || value instanceof Set) return '';
  if (depth > maxDepth) return undefined;
  for (const key in value) {
    const member: unknown = (value as JsonObject)[key];
    if (typeof member !== 'object' || member === null) continue;
    const lost = findLossy(member, depth + 1);
    if (lost !== undefined) return Array.isArray(value) ? `[${key}]${lost}` : `.${key}${lost}`;
  }
  return undefined;
}

/** Deeper values are left to JSON.stringify, which reports cycles. */
const maxDepth = 100;

function contentOnly(content: readonly ContentBlock[]): ToolResultItem {
  return { content, structured: undefined, isError: false, _meta: undefined };
}

function readBlocks(content: unknown): readonly ContentBlock[] {
  checkBlocks(content);
  return content;
}

function checkBlocks(content: unknown): asserts content is readonly ContentBlock[] {
  if (!Array.isArray(content)) {
    throw new TypeError(`"content" must be a list of blocks, got ${inspectValue(content)}`);
  }
  for (const [at, block] of content.entries()) {
    const fault = validateBlock(block);
    if (fault !== undefined) throw new TypeError(`content block ${at} ${fault}`);
  }
}

export interface CheckedPrompt {
  readonly description: string | undefined;
  readonly messages: readonly PromptMessage[];
  readonly _meta: JsonObject | undefined;
}

/**
 * Parses the return value of a prompt.
 *
 * @throws {TypeError} naming the problem
 * @see MCP 2025-11-25, server/prompts, "PromptMessage"
 */
export function readPromptOutput(output: unknown): CheckedPrompt {
  if (typeof output === 'string')
    return messagesOnly([{ role: 'user', content: textBlock(output) }]);
  if (Array.isArray(output)) return messagesOnly(readMessages(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `the result of a prompt must be a string, messages, or an object with "messages", got ${output === undefined ? 'undefined' : inspectValue(output)}`,
    );
  }
  const { description, messages, _meta } = output;
  if (description !== undefined && typeof description !== 'string') {
    throw new TypeError(`"description" must be a string, got ${inspectValue(description)}`);
  }
  return {
    description,
    messages: readMessages(messages),
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

function messagesOnly(messages: readonly PromptMessage[]): CheckedPrompt {
  return { description: undefined, messages, _meta: undefined };
}

function readMessages(messages: unknown): readonly PromptMessage[] {
  checkMessages(messages);
  return messages;
}

function checkMessages(messages: unknown): asserts messages is readonly PromptMessage[] {
  if (!Array.isArray(messages)) {
    throw new TypeError(`"messages" must be a list, got ${inspectValue(messages)}`);
  }
  for (const [at, message] of messages.entries()) {
    const fault = validateMessage(message);
    if (fault !== undefined) throw new TypeError(`message ${at} ${fault}`);
  }
}

function validateMessage(message: unknown): string | undefined {
  if (!isJsonObject(message)) return `must be an object, got ${inspectValue(message)}`;
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant') {
    return `must have the role "user" or "assistant", got ${inspectValue(role)}`;
  }
  const fault = validateBlock(content);
  return fault === undefined ? undefined : `has a "content" that ${fault}`;
}

/**
 * Parses the return value of a resource's `read`.
 *
 * @throws {TypeError} naming the problem
 * @see MCP 2025-11-25, server/resources, "Resource Contents"
 */
export function readContents(
  output: unknown,
  { uri, mimeType }: { readonly uri: string; readonly mimeType: string | undefined },
  dialect: Dialect,
): readonly ResourceContents[] {
  const described = { uri, ...(mimeType === undefined ? {} : { mimeType }) };
  if (typeof output === 'string') return [{ ...described, text: output }];
  if (output instanceof Uint8Array) return [{ ...described, blob: base64(output) }];
  checkContents(output, uri);
  return output.map((contents) => dialect.contents(contents));
}

function checkContents(
  output: unknown,
  uri: string,
): asserts output is readonly ResourceContents[] {
  if (!Array.isArray(output)) {
    throw new TypeError(
      `"read" of ${inspectValue(uri)} must return a string, bytes or a list of contents, got ${output === undefined ? 'undefined' : inspectValue(output)}`,
    );
  }
  for (const [at, contents] of output.entries()) {
    const fault = validateContents(contents);
    if (fault !== undefined) throw new TypeError(`contents ${at} of ${inspectValue(uri)} ${fault}`);
  }
}

/** Required string members of each block type. */
const members: { readonly [type: string]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

/** A problem with a content block; undefined if valid. */
function validateBlock(block: unknown): string | undefined {
  if (!isJsonObject(block)) return `must be an object, got ${inspectValue(block)}`;
  const { type, resource, data } = block;
  const needed = typeof type === 'string' && Object.hasOwn(members, type) && members[type];
  if (!needed) {
    return `must have a type of ${Object.keys(members).join(', ')}, got ${inspectValue(type)}`;
  }
  if (type === 'resource') {
    const fault = validateContents(resource);
    return fault === undefined ? undefined : `has a "resource" that ${fault}`;
  }
  const missing = needed.find((member) => typeof block[member] !== 'string');
  if (missing !== undefined) {
    return `must have a string "${missing}", got ${inspectValue(block[missing])}`;
  }
  return needed.includes('data') && !isBase64(data) ? 'must have base64 in "data"' : undefined;
}

/** A problem with resource contents; undefined if valid. */
function validateContents(contents: unknown): string | undefined {
  if (!isJsonObject(contents)) return `must be an object, got ${inspectValue(contents)}`;
  const { uri, mimeType, text, blob } = contents;
  if (typeof uri !== 'string') return `must have a string "uri", got ${inspectValue(uri)}`;
  if (mimeType !== undefined && typeof mimeType !== 'string') {
    return `must have a string "mimeType" or none, got ${inspectValue(mimeType)}`;
  }
  if (typeof text === 'string') return undefined;
  if (blob === undefined)
    return `must have a string "text" or "blob", got "text" ${inspectValue(text)}`;
  return isBase64(blob) ? undefined : `must have base64 in "blob", got ${inspectValue(blob)}`;
}

/** @see MCP 2025-11-25, server/resources, "Security Considerations": binary data must be properly encoded */
function isBase64(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length % 4 === 0 && !/[^A-Za-z0-9+/=]|=[^=]|===/.test(value)
  );
}
