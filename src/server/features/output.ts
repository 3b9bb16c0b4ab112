/**
 * What handlers give, checked and brought into one form. Handlers are user code: they may give
 * anything.
 */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import { base64, textBlock } from '../../protocol/content.ts';
import type { ContentBlock, ResourceContents } from '../../protocol/content.ts';
import type { Dialect, ToolResultItem } from '../../protocol/dialects/dialect.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { PromptMessage } from '../define/prompt.ts';

/**
 * Reads what a tool's handler gave.
 *
 * @throws {TypeError} saying what it gave instead
 * @see MCP 2025-11-25, server/tools, "Tool Result"
 */
export function readToolOutput(output: unknown, tool: string): ToolResultItem {
  if (typeof output === 'string') return contentAlone([{ type: 'text', text: output }]);
  if (Array.isArray(output)) return contentAlone(readBlocks(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `a tool gives a string, content blocks, or an object with "content" or "structured"; this is ${inspectValue(output)}`,
    );
  }
  const { content, structured, isError, _meta } = output;
  if (output['structuredContent'] !== undefined && structured === undefined) {
    throw new TypeError('"structuredContent" of a result is called "structured" here');
  }
  if (structured !== undefined) assertStructured(structured, tool);
  if (content === undefined && structured === undefined) {
    throw new TypeError('a tool gives "content" or "structured"; this has neither');
  }
  return {
    content: content === undefined ? undefined : readBlocks(content),
    structured,
    isError: isError === true,
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

/** @throws {TypeError} JSON writes it as another value than an object, or loses its entries */
function assertStructured(value: unknown, tool: string): asserts value is JsonObject {
  if (!isJsonObject(value)) {
    throw new TypeError(`${tool}: "structured" must be an object, got ${inspectValue(value)}`);
  }
  const lost = value instanceof Date ? '' : lossyIn(value);
  if (lost === undefined) return;
  throw new TypeError(
    `${tool}: "structured${lost}" must be plain JSON, got a Date, Map or Set: convert it first`,
  );
}

/** The path of the first Map or Set, of which JSON keeps no entry. */
function lossyIn(value: object, depth = 0): string | undefined {
  if (value instanceof Map || value instanceof Set) return '';
  if (depth > maxDepth) return undefined;
  for (const key in value) {
    const member: unknown = (value as JsonObject)[key];
    if (typeof member !== 'object' || member === null) continue;
    const lost = lossyIn(member, depth + 1);
    if (lost !== undefined) return Array.isArray(value) ? `[${key}]${lost}` : `.${key}${lost}`;
  }
  return undefined;
}

/** A deeper value is left to JSON, which names its cycle. */
const maxDepth = 100;

function contentAlone(content: readonly ContentBlock[]): ToolResultItem {
  return { content, structured: undefined, isError: false, _meta: undefined };
}

function readBlocks(content: unknown): readonly ContentBlock[] {
  checkBlocks(content);
  return content;
}

function checkBlocks(content: unknown): asserts content is readonly ContentBlock[] {
  if (!Array.isArray(content)) {
    throw new TypeError(`"content" must be a list of blocks, this is ${inspectValue(content)}`);
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
 * Reads what a prompt gave.
 *
 * @throws {TypeError} saying what it gave instead
 * @see MCP 2025-11-25, server/prompts, "PromptMessage"
 */
export function readPromptOutput(output: unknown): CheckedPrompt {
  if (typeof output === 'string')
    return messagesAlone([{ role: 'user', content: textBlock(output) }]);
  if (Array.isArray(output)) return messagesAlone(readMessages(output));
  if (!isJsonObject(output)) {
    throw new TypeError(
      `a prompt gives a string, messages, or an object with "messages"; this is ${inspectValue(output)}`,
    );
  }
  const { description, messages, _meta } = output;
  if (description !== undefined && typeof description !== 'string') {
    throw new TypeError(`"description" must be a string, this is ${inspectValue(description)}`);
  }
  return {
    description,
    messages: readMessages(messages),
    _meta: isJsonObject(_meta) ? _meta : undefined,
  };
}

function messagesAlone(messages: readonly PromptMessage[]): CheckedPrompt {
  return { description: undefined, messages, _meta: undefined };
}

function readMessages(messages: unknown): readonly PromptMessage[] {
  checkMessages(messages);
  return messages;
}

function checkMessages(messages: unknown): asserts messages is readonly PromptMessage[] {
  if (!Array.isArray(messages)) {
    throw new TypeError(`"messages" must be a list, this is ${inspectValue(messages)}`);
  }
  for (const [at, message] of messages.entries()) {
    const fault = validateMessage(message);
    if (fault !== undefined) throw new TypeError(`message ${at} ${fault}`);
  }
}

function validateMessage(message: unknown): string | undefined {
  if (!isJsonObject(message)) return `must be an object, this is ${inspectValue(message)}`;
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant') {
    return `must have the role "user" or "assistant", this is ${inspectValue(role)}`;
  }
  const fault = validateBlock(content);
  return fault === undefined ? undefined : `has a "content" that ${fault}`;
}

/**
 * Reads what a resource's `read` gave for a URI.
 *
 * @throws {TypeError} saying what it gave instead
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
      `reading ${inspectValue(uri)} must give a string, bytes or a list of contents; this is ${inspectValue(output)}`,
    );
  }
  for (const [at, contents] of output.entries()) {
    const fault = validateContents(contents);
    if (fault !== undefined) throw new TypeError(`contents ${at} of ${inspectValue(uri)} ${fault}`);
  }
}

/** The string members that a block of each type must have. */
const members: { readonly [type: string]: readonly string[] } = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

/** What is wrong with a content block; undefined if nothing is. */
function validateBlock(block: unknown): string | undefined {
  if (!isJsonObject(block)) return `must be an object, this is ${inspectValue(block)}`;
  const { type, resource, data } = block;
  const needed = typeof type === 'string' && Object.hasOwn(members, type) && members[type];
  if (!needed) {
    return `must have a type of ${Object.keys(members).join(', ')}; this is ${inspectValue(type)}`;
  }
  if (type === 'resource') {
    const fault = validateContents(resource);
    return fault === undefined ? undefined : `has a "resource" that ${fault}`;
  }
  const missing = needed.find((member) => typeof block[member] !== 'string');
  if (missing !== undefined) {
    return `must have a string "${missing}", this is ${inspectValue(block[missing])}`;
  }
  return needed.includes('data') && !isBase64(data) ? 'has "data" that is no base64' : undefined;
}

/** What is wrong with the contents of a resource; undefined if nothing is. */
function validateContents(contents: unknown): string | undefined {
  if (!isJsonObject(contents)) return `must be an object, this is ${inspectValue(contents)}`;
  const { uri, mimeType, text, blob } = contents;
  if (typeof uri !== 'string') return `must have a string "uri", this is ${inspectValue(uri)}`;
  if (mimeType !== undefined && typeof mimeType !== 'string') {
    return `must have a string "mimeType" or none, this is ${inspectValue(mimeType)}`;
  }
  if (typeof text === 'string') return undefined;
  if (blob === undefined)
    return `must have a string "text" or "blob", "text" is ${inspectValue(text)}`;
  return isBase64(blob) ? undefined : `must have base64 in "blob", this is ${inspectValue(blob)}`;
}

/**
 * @see MCP 2025-11-25, server/resources, "Security Considerations": binary data must be properly
 *   encoded
 */
function isBase64(value: unknown): boolean {
  return (
    typeof value === 'string' && value.length % 4 === 0 && !/[^A-Za-z0-9+/=]|=[^=]|===/.test(value)
  );
}
