/** The servers of the connection's contract: the same tools, as this library has them and as both lines of the official SDK have. */
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  McpServer as SecondServer,
  acceptedContent,
  inputRequired,
} from '@modelcontextprotocol/server';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import { z } from 'zod';

/** Resolves when the signal fires: a call that only its cancellation ends. */
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const serverInfo = { name: 'contract', version: '1.0.0' };
const question = 'Who is it?';
const form = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const progressOf = (progressToken: string | number | undefined, progress: number) => ({
  method: 'notifications/progress' as const,
  params: { progressToken: progressToken ?? 'none', progress, total: 3 },
});
/** What `ask` says, of what it was answered. */
const greeting = (name: unknown) => `It is ${String(name)}`;

/** A server of ours. */
export function ours(): McpServer {
  const server: McpServer = createMcpServer({
    ...serverInfo,
    tools: [
      defineTool({
        name: 'echo',
        description: 'Says it again',
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          required: ['text'],
        },
        handler: (args) => args.text,
      }),
      defineTool({
        name: 'steps',
        description: 'Takes three',
        handler: (_args, context) => {
          for (const step of [1, 2, 3]) context.progress(step, { total: 3 });
          return 'done';
        },
      }),
      defineTool({
        name: 'wait',
        description: 'Does not end by itself',
        handler: async (_args, context) => {
          context.progress(0);
          await aborted(context.signal);
          return 'aborted';
        },
      }),
      defineTool({
        name: 'ask',
        description: 'Asks for a name',
        handler: async (_args, context) => {
          const answer = await context.elicit({ message: question, schema: form });
          return greeting(answer.action === 'accept' ? answer.content.name : answer.action);
        },
      }),
      defineTool({
        name: 'grow',
        description: 'Adds a tool',
        handler: () => {
          server.tools.add(
            defineTool({ name: 'grown', description: 'Is new', handler: () => 'grown' }),
          );
          return 'one more';
        },
      }),
    ],
  });
  return server;
}

/** A server of the official SDK, 1.x. */
export function firstOfficial(): FirstServer {
  const server = new FirstServer(serverInfo);
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text));
  server.registerTool('steps', {}, async ({ _meta, sendNotification }) => {
    for (const step of [1, 2, 3]) await sendNotification(progressOf(_meta?.progressToken, step));
    return text('done');
  });
  server.registerTool('wait', {}, async ({ _meta, sendNotification, signal }) => {
    await sendNotification(progressOf(_meta?.progressToken, 0));
    await aborted(signal);
    return text('aborted');
  });
  server.registerTool('ask', {}, async ({ sendRequest }) => {
    const params = { message: question, requestedSchema: form } as never;
    const request = { method: 'elicitation/create', params } as const;
    const { action, content } = await sendRequest(request, ElicitResultSchema);
    return text(greeting(action === 'accept' ? content?.['name'] : action));
  });
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => text('grown'));
    return text('one more');
  });
  return server;
}

/** What the servers of one endpoint of the official SDK, 2.x, share: over HTTP each request has a server of its own. */
export interface Shared {
  isGrown: boolean;
  /** Tells those who listen that there is another tool; a server that has its listeners itself tells them. */
  changed?: () => void;
}

/** A server of the official SDK, 2.x. */
export function secondOfficial(shared: Shared): SecondServer {
  const server = new SecondServer(serverInfo, { capabilities: { tools: { listChanged: true } } });
  const grown = () => server.registerTool('grown', {}, () => text('grown'));
  const echoed = z.object({ text: z.string() });
  server.registerTool('echo', { inputSchema: echoed }, (args) => text(args.text));
  server.registerTool('steps', {}, async ({ mcpReq: { _meta, notify } }) => {
    for (const step of [1, 2, 3]) await notify(progressOf(_meta?.progressToken, step));
    return text('done');
  });
  server.registerTool('wait', {}, async ({ mcpReq: { _meta, notify, signal } }) => {
    await notify(progressOf(_meta?.progressToken, 0));
    await aborted(signal);
    return text('aborted');
  });
  server.registerTool('ask', {}, ({ mcpReq: { inputResponses } }) => {
    const content = acceptedContent(inputResponses, 'name');
    if (content) return text(greeting(content['name']));
    const asked = inputRequired.elicit({ message: question, requestedSchema: form as never });
    return inputRequired({ inputRequests: { name: asked } });
  });
  server.registerTool('grow', {}, () => {
    shared.isGrown = true;
    if (shared.changed) shared.changed();
    else grown();
    return text('one more');
  });
  if (shared.isGrown) grown();
  return server;
}
