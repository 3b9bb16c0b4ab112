/** A server with a live page, whose address it prints on stderr. */
import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { inspectPage } from '@mcp-actors/inspector';

const wish = defineForm({
  type: 'object',
  properties: { seating: { type: 'string', enum: ['inside', 'terrace'] } },
  required: ['seating'],
});

const bookTables = defineTool({
  name: 'book_tables',
  description:
    'Books a table for each of the days; asks the user where to sit, for all days at once.',
  taskSupport: 'optional',
  inputSchema: {
    type: 'object',
    properties: { days: { type: 'array', items: { type: 'string' } } },
    required: ['days'],
  },
  handler: async ({ days }, context) => {
    const booked = days.map(async (day) => {
      const answer = await context.elicit({ message: `A table for ${day}`, schema: wish });
      return `${day}: ${answer.action === 'accept' ? answer.content.seating : answer.action}`;
    });
    return (await Promise.all(booked)).join('\n');
  },
});

const server = createMcpServer({ name: 'restaurant', version: '1.0.0', tools: [bookTables] });

const page = await inspectPage();
process.stderr.write(`Watch it on ${page.url}\n`);
await serve(server, { watchers: [page.watcher], beforeExit: () => page.close() });
