/** A server of the official SDK that has a tool, `echo`, and answers `tools/list` with an error. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new Server({ name: 'bad-list', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => {
  throw Object.assign(new Error('The database is away'), { code: -32000 });
});
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: 'text', text: ['echo', params.arguments?.text].join(' ').trim() }],
}));
await server.connect(new StdioServerTransport());
