/** Puts any launched server in front of hosts of every revision, with an additional tool. */
import { defineTool } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { serve } from 'mcp-actors/serve';

const [command = 'node', ...args] = process.argv.slice(2);
let calls = 0;

const server = bridge(
  { command, args },
  {
    definition: {
      tools: [
        defineTool({
          name: 'calls',
          description: 'How many tools were called.',
          inputSchema: { type: 'object' },
          handler: () => `${calls}`,
        }),
      ],
    },
  },
);

server.use((call, next) => {
  if (call.method === 'tools/call') calls++;
  return next();
});

await serve(server);
