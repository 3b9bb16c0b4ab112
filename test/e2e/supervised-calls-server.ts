/**
 * A server with a durable tool that supervises itself. Its processes are killed in turns: every
 * second one at `POINTS` (see `deadly-store.ts`), the others by the test. `COUNT` names the file
 * that counts them.
 */
import { appendFileSync, existsSync, statSync } from 'node:fs';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { TaskStore } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { openDeadlyStore } from './deadly-store.ts';

const { COUNT = '', POINTS = '', STORE = '' } = process.env;

/** The store of a process that serves. The supervisor opens none. */
async function open(): Promise<string | TaskStore> {
  if (process.env['MCP_ACTORS_SUPERVISED'] === undefined) return STORE;
  const before = existsSync(COUNT) ? statSync(COUNT).size : 0;
  appendFileSync(COUNT, '.');
  const point = before % 2 === 0 ? POINTS.split(',')[before / 2] : undefined;
  return openDeadlyStore(STORE, point ?? 'never:1');
}

const order = defineTool({
  name: 'order',
  description: 'Charges once, asks, and sends a receipt once',
  durable: true,
  handler: async (_, { once, elicit, progress }) => {
    const charge = await once('charge', () => crypto.randomUUID());
    progress(1, { total: 3 });
    const schema = { type: 'object', properties: { size: { type: 'string' } } } as const;
    const { action } = await elicit({ message: `Size for ${charge}?`, schema });
    progress(2, { total: 3 });
    const receipt = await once('receipt', () => `receipt of ${charge}`);
    progress(3, { total: 3 });
    return `${charge}: ${receipt}, ${action}`;
  },
});

const server = createMcpServer({ name: 'supervised', version: '1.0.0', tools: [order] });

await serve(server, { durable: await open(), supervise: true, limits: { maxRestarts: 1000 } });
