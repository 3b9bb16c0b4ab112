/**
 * Tools for servers of durable tasks: one that ends at once, one that does not, and one that
 * survives its process.
 */
import { defineTool } from 'mcp-actors';

export const taskTools = (taskSupport: 'optional' | 'required') => [
  defineTool({
    name: 'hold',
    description: 'Runs until it is cancelled',
    taskSupport,
    handler: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  }),
  defineTool({
    name: 'charge',
    description: 'Charges once, waits, and sends a receipt once',
    taskSupport,
    durable: true,
    handler: async (_, { once, sleep }) => {
      const charge = await once('charge', () => crypto.randomUUID());
      await sleep(20);
      const receipt = await once('receipt', () => `receipt of ${charge}`);
      return `${charge}: ${receipt}`;
    },
  }),
  defineTool({
    name: 'nap',
    description: 'Sleeps for an hour',
    taskSupport,
    durable: true,
    handler: async (_, { sleep }) => {
      await sleep(3_600_000);
      return 'awake';
    },
  }),
  defineTool({
    name: 'say',
    description: 'Says that it has run',
    taskSupport,
    handler: () => 'said',
  }),
];
