/**
 * Validates tool use in sampling conversations: a message with tool uses must be followed by a user
 * message with their results only.
 *
 * @see MCP 2025-11-25, client/sampling, "Message Content Constraints"
 */
import { inspectValue, isJsonObject } from './classify.ts';

/** The relevant members of a message. */
interface Turn {
  readonly role?: unknown;
  /** One content block or several; anything else is ignored. */
  readonly content?: unknown;
}

/** The violation, naming the message; undefined if there is none. */
export function validateToolUses(messages: readonly unknown[]): string | undefined {
  let open: readonly unknown[] = [];
  for (const [at, message] of messages.entries()) {
    const { role, content }: Turn = isJsonObject(message) ? message : {};
    const blocks = [content].flat().filter(isJsonObject);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const uses = blocks.filter(({ type }) => type === 'tool_use');
    if (results.length > 0 && (results.length < blocks.length || role !== 'user')) {
      return `messages[${at}] must be a user message with tool results only, because it has tool results`;
    }
    const given = new Set(results.map(({ toolUseId }) => toolUseId));
    const missing = open.find((id) => !given.has(id));
    if (missing !== undefined) {
      return `messages[${at}] must have the results of all preceding tool uses, that of ${inspectValue(missing)} is missing`;
    }
    const wanted = new Set(open);
    const stray = results.find(({ toolUseId }) => !wanted.delete(toolUseId));
    if (stray !== undefined) {
      return `messages[${at}] must have one result per preceding tool use, got an unexpected one for ${inspectValue(stray['toolUseId'])}`;
    }
    if (uses.length > 0 && role !== 'assistant') {
      return `messages[${at}] must have the role assistant, because it uses a tool`;
    }
    open = uses.map(({ id }) => id);
  }
  if (open.length === 0) return undefined;
  return `The last message has the tool use ${inspectValue(open[0])}; add a message with its result`;
}
