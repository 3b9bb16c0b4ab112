/** Tools for servers of durable tasks: one that ends at once, and one that does not. */
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
    name: 'say',
    description: 'Says that it has run',
    taskSupport,
    handler: () => 'said',
  }),
];
