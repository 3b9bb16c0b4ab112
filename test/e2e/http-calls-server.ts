/** A server over HTTP whose calls outlive it: `serve` with `durable`. Its tool waits for a file. */
import { access } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const [, , durable = '', port = '0', folder = ''] = process.argv;

const isThere = (name: string) =>
  access(`${folder}/${name}`).then(
    () => true,
    () => false,
  );

const order = defineTool({
  name: 'order',
  description: 'Charges once, waits for a file, and sends a receipt once',
  inputSchema: {
    type: 'object',
    properties: { file: { type: 'string' } },
    required: ['file'],
  },
  durable: true,
  handler: async ({ file }, { once, progress, signal }) => {
    process.stderr.write(`${JSON.stringify({ event: 'order.runs', file })}\n`);
    const charge = await once('charge', () => crypto.randomUUID());
    progress(1, { total: 2, message: 'charged' });
    while (!(await isThere(file))) await delay(10, undefined, { signal });
    const receipt = await once('receipt', () => `receipt of ${charge}`);
    progress(2, { total: 2 });
    return `${charge}: ${receipt}`;
  },
});

const plain = defineTool({
  name: 'plain',
  description: 'Waits for a file, and is not durable',
  handler: async (_, { progress, signal }) => {
    progress(1, { total: 2 });
    while (!(await isThere('plain'))) await delay(10, undefined, { signal });
    return 'done';
  },
});

const ask = defineTool({
  name: 'ask',
  description: 'Asks for a size',
  durable: true,
  handler: async (_, { elicit }) => {
    const schema = { type: 'object', properties: { size: { type: 'string' } } } as const;
    const answer = await elicit({ message: 'Size?', schema });
    return JSON.stringify(answer);
  },
});

const server = createMcpServer({ name: 'calls', version: '1.0.0', tools: [order, plain, ask] });

await serve(server, {
  durable,
  limits: { maxRestarts: 1000 },
  http: { port: Number(port), insecure: true, limits: { retryMs: 50 } },
});
