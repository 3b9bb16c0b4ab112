/** The server mounted by the examples in this folder. */
import { createMcpServer, defineTool } from 'mcp-actors';

export const greeter = createMcpServer({
  name: 'greeter',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'greet',
      description: 'Greets somebody, and says where the request came to.',
      inputSchema: {
        type: 'object',
        properties: { who: { type: 'string' } },
        required: ['who'],
      },
      handler: ({ who }, { http }) => `Hello ${who}, at ${http?.target}`,
    }),
  ],
});
