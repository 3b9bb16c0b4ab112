/**
 * A server whose tool reads files inside the client's roots only.
 *
 * npx tsx examples/roots/server.ts
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import { readInside, rootsBoundary, rootsResolver } from 'mcp-actors/roots';
import { serve } from 'mcp-actors/serve';

const countLines = defineTool({
  name: 'count_lines',
  description: 'Counts the lines of a text file in the project.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the project, absolute, or a file: URI.' },
    },
    required: ['path'],
  },
  handler: async ({ path }, context) => {
    const boundary = await rootsBoundary(await context.roots(), {
      primary: { marker: ['package.json', '.git'] },
    });
    const text = (await readInside(boundary, path)).toString('utf8');
    return `${text.split('\n').length} lines in ${path}, of ${boundary.base.path}`;
  },
});

const server = createMcpServer({
  name: 'line-counter',
  version: '1.0.0',
  resolveRoots: rootsResolver(),
  tools: [countLines],
});

await serve(server);
