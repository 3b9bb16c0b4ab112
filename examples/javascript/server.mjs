import { createMcpServer, defineTool } from 'mcp-actors';

export const server = createMcpServer({
  name: 'greeter',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'greet',
      description: 'Greets somebody.',
      inputSchema: {
        type: 'object',
        properties: { who: { type: 'string' } },
        required: ['who'],
      },
      handler: ({ who }) => `Hello ${who}`,
    }),
  ],
});
