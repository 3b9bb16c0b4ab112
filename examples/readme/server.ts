import { createMcpServer, defineTool } from 'mcp-actors';
import { z } from 'zod';

const greet = defineTool({
  name: 'greet',
  description: 'Greets someone by name.',
  inputSchema: z.object({ who: z.string() }),
  handler: ({ who }) => `Hello ${who}`,
});

export default createMcpServer({ name: 'greeter', version: '1.0.0', tools: [greet] });
