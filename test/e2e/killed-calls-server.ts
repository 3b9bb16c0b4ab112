/**
 * A server with a durable tool that kills itself with SIGKILL at a point: see `deadly-store.ts`.
 * The test is its supervisor.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { openDeadlyStore } from './deadly-store.ts';

const [, , where = '', point = '', name] = process.argv;

const order = defineTool({
  name: 'order',
  description: 'Charges once, asks, and sends a receipt once',
  durable: true,
  handler: async (_, { once, elicit, progress }) => {
    const charge = await once('charge', () => crypto.randomUUID());
    progress(1, { total: 3 });
    const schema = { type: 'object', properties: { size: { type: 'string' } } } as const;
    const { action } = await elicit({ message: 'Size?', schema });
    progress(2, { total: 3 });
    const receipt = await once('receipt', () => `receipt of ${charge}`);
    progress(3, { total: 3 });
    return `${charge}: ${receipt}, ${action}`;
  },
});

const server = createMcpServer({ name: 'killed', version: '1.0.0', tools: [order] });

await serve(server, {
  durable: await openDeadlyStore(where, point, name),
  supervised: true,
  limits: { maxRestarts: 1000 },
});
