import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const server = new McpServer({ name: 'two-tools', version: '1.0.0' });
const text = (value) => ({ content: [{ type: 'text', text: value }] });

server.registerTool('slow', {}, async ({ signal }) => {
  await sleep(500, undefined, { signal });
  return text('done');
});
server.registerTool('roots', {}, async () => {
  const hasRoots = server.server.getClientCapabilities()?.roots;
  return text(hasRoots ? JSON.stringify(await server.server.listRoots()) : 'none');
});

await server.connect(new StdioServerTransport());
