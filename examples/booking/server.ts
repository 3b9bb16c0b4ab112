import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { bookingMachine } from './booking.machine.ts';

// #region tool
const book = defineTool({
  name: 'book',
  description: 'Books a table for a day; asks the user for the rest, step by step.',
  inputSchema: {
    type: 'object',
    properties: { day: { type: 'string', description: 'Such as 2026-11-22' } },
    required: ['day'],
  },
  machine: bookingMachine,
});
// #endregion

await serve(createMcpServer({ name: 'booking', version: '1.0.0', tools: [book] }));
