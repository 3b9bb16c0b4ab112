/** The smallest server: one tool over stdio. */
import { createMcpServer, defineTool, stdio } from 'mcp-actors';

const echo = defineTool({
  name: 'echo',
  description: 'Returns its text',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  handler: ({ text }) => text,
});

createMcpServer({ name: 'one-tool', version: '1', tools: [echo] }).listen(stdio());
