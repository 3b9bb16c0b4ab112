/** An HTTP server with a durable tool that waits for a file. */
import { access } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const [, , state = '', port = '0', file = '', holdMs = '200'] = process.argv;

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

const order = defineTool({
  name: 'order',
  description: 'Charges once, waits for a file, and sends a receipt once',
  durable: true,
  handler: async (_, { once }) => {
    const charge = await once('charge', () => crypto.randomUUID());
    while (!(await isThere(file))) await delay(10);
    const receipt = await once('receipt', () => `receipt of ${charge}`);
    return `${charge}: ${receipt}`;
  },
});

const server = createMcpServer({ name: 'polled', version: '1.0.0', tools: [order] });

await serve(server, {
  durable: state,
  limits: { holdMs: Number(holdMs) },
  http: { port: Number(port), insecure: true },
});
