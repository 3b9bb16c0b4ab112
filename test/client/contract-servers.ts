/** The servers of the connection's contract: the same tools, as this library has them and as the official SDK has. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createMcpServer, defineTool } from 'mcp-actors';
import { z } from 'zod';

/** Resolves when the signal fires: a call that only its cancellation ends. */
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** The tools, as this library has them. */
export const ours = createMcpServer({
  name: 'contract',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'echo',
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      handler: ({ text }) => text,
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
  ],
});

/** The same tools, as the official SDK has them. */
export function officialServer(): McpServer {
  const server = new McpServer({ name: 'contract', version: '1.0.0' });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text));
  const report = (token: string | number | undefined, progress: number) => ({
    method: 'notifications/progress' as const,
    params: { progressToken: token ?? 'none', progress, total: 3 },
  });
  server.registerTool('steps', {}, async ({ _meta, sendNotification }) => {
    for (const step of [1, 2, 3]) await sendNotification(report(_meta?.progressToken, step));
    return text('done');
  });
  server.registerTool('wait', {}, async ({ _meta, sendNotification, signal }) => {
    await sendNotification(report(_meta?.progressToken, 0));
    await aborted(signal);
    return text('aborted');
  });
  return server;
}
