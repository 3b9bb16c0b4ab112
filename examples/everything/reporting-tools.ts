/** Tools that report progress to their client. */
import { setTimeout as delay } from 'node:timers/promises';
import { defineTool } from 'mcp-actors';
import type { McpServer, Tool } from 'mcp-actors';

/** Long enough that clients see each step and no progress is dropped as too frequent. */
const stepMs = 120;

const withLogging = defineTool({
  name: 'test_tool_with_logging',
  description: 'Logs three messages to the client',
  handler: async (_args, { log, signal }) => {
    log.info('Tool execution started');
    await delay(stepMs, undefined, { signal });
    log.info('Tool processing data');
    await delay(stepMs, undefined, { signal });
    log.info('Tool execution completed');
    return 'Logged three messages';
  },
});

const withProgress = defineTool({
  name: 'test_tool_with_progress',
  description: 'Reports its progress in three steps',
  handler: async (_args, context) => {
    const total = 100;
    context.progress(0, { total, message: 'begun' });
    await delay(stepMs, undefined, { signal: context.signal });
    context.progress(50, { total, message: 'half done' });
    await delay(stepMs, undefined, { signal: context.signal });
    context.progress(total, { total, message: 'done' });
    return 'Went through three steps';
  },
});

const logging = defineTool({
  name: 'test_logging_tool',
  description: 'Logs one message to the client',
  handler: (_args, { log }) => {
    log.info('Called');
    return 'Logged one message';
  },
});

const reconnection = defineTool({
  name: 'test_reconnection',
  description: 'Closes the stream of its call, and goes on: the client comes back for the result',
  handler: async (_args, { http, signal }) => {
    http?.closeConnection();
    await delay(stepMs, undefined, { signal });
    return 'The client has come back';
  },
});

export const reportingTools: readonly Tool[] = [withLogging, withProgress, logging, reconnection];

/** Tools that announce changes of a server to subscribed clients. */
export function triggersOf(server: McpServer): readonly Tool[] {
  const trigger = (name: string, what: 'tools' | 'prompts') =>
    defineTool({
      name,
      description: `Announces that the ${what} have changed`,
      handler: () => {
        server[what].announce();
        return `Announced that the ${what} have changed`;
      },
    });
  return [
    trigger('test_trigger_tool_change', 'tools'),
    trigger('test_trigger_prompt_change', 'prompts'),
  ];
}
