/** The operations of an API as tools, except those that delete. */
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import { createMcpServer } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const [document = 'orders.yaml', server] = process.argv.slice(2);

const tools = await toolsFromOpenApi(document, {
  include: ['tag:orders'],
  exclude: ['DELETE'],
  auth: { authorization: `Bearer ${process.env['API_TOKEN']}` },
  // Default: the document's first server.
  ...(server === undefined ? {} : { server }),
  onUnusable: ({ operation, reason }) => console.error(`${operation} is left out: ${reason}`),
});

await serve(createMcpServer({ name: 'orders', version: '1.0.0', tools }));
