/** A server whose tasks are written down in a directory. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const [, , directory] = process.argv;

const tools = [
  defineTool({
    name: 'hold',
    description: 'Runs until it is cancelled',
    taskSupport: 'optional',
    handler: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  }),
  defineTool({
    name: 'say',
    description: 'Says that it has run',
    taskSupport: 'optional',
    handler: () => 'said',
  }),
];

const server = createMcpServer({ name: 'durable', version: '1.0.0', tools });

await serve(server, directory === undefined ? {} : { durable: directory });
