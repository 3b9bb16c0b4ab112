/**
 * The rule for tools in a conversation that a model continues: what uses tools is followed by their
 * results, which have a message of the user to themselves.
 *
 * @see MCP 2025-11-25, client/sampling, "Message Content Constraints"
 */
import { inspectValue, isJsonObject } from './classify.ts';

/** What of a message the rule is about. */
interface Turn {
  readonly role?: unknown;
  /** A block or several; the rule ignores anything else. */
  readonly content?: unknown;
}

/** What breaks the rule, naming the message; undefined if nothing does. */
export function validateToolUses(messages: readonly unknown[]): string | undefined {
  let open: readonly unknown[] = [];
  for (const [at, message] of messages.entries()) {
    const { role, content }: Turn = isJsonObject(message) ? message : {};
    const blocks = [content].flat().filter(isJsonObject);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const uses = blocks.filter(({ type }) => type === 'tool_use');
    if (results.length > 0 && (results.length < blocks.length || role !== 'user')) {
      return `messages[${at}] has results of tools: such a message is the user's and has nothing else`;
    }
    const given = new Set(results.map(({ toolUseId }) => toolUseId));
    const missing = open.find((id) => !given.has(id));
    if (missing !== undefined) {
      return `messages[${at}] must be the results of the tools used before; that of ${inspectValue(missing)} is missing`;
    }
    const wanted = new Set(open);
    const stray = results.find(({ toolUseId }) => !wanted.delete(toolUseId));
    if (stray !== undefined) {
      return `messages[${at}] has a result for ${inspectValue(stray['toolUseId'])}, which the message before does not use, or two`;
    }
    if (uses.length > 0 && role !== 'assistant') {
      return `messages[${at}] uses a tool, which only the assistant does`;
    }
    open = uses.map(({ id }) => id);
  }
  if (open.length === 0) return undefined;
  return `The last message uses ${inspectValue(open[0])}: its result must follow`;
}
