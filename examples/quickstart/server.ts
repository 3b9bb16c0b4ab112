import { createMcpServer, defineTool } from 'mcp-actors';

export const server = createMcpServer({
  name: 'greeter',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'greet',
      description: 'Greets somebody, and says where the client works.',
      inputSchema: {
        type: 'object',
        properties: { who: { type: 'string' } },
        required: ['who'],
      },
      handler: async ({ who }, context) => {
        const { roots } = await context.roots();
        return `Hello ${who}, from ${roots[0]?.uri ?? 'nowhere'}`;
      },
    }),
  ],
});
