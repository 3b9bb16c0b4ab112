/** A server over stdio of the official SDK, which answers an unknown tool with a result. Its arguments: the names of its tools. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'official', version: '1.0.0' });
for (const name of process.argv.slice(2)) {
  server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }));
}
await server.connect(new StdioServerTransport());
