import { createMcpServer, defineForm, defineTool, stdio } from 'mcp-actors';

const booking = defineForm({
  type: 'object',
  properties: {
    people: { type: 'integer', minimum: 1, maximum: 12, default: 2 },
    seating: { type: 'string', enum: ['inside', 'terrace'] },
    email: { type: 'string', format: 'email' },
  },
  required: ['people', 'seating'],
});

const bookTable = defineTool({
  name: 'book_table',
  description: 'Books a table for a day; asks the user for what else it needs.',
  inputSchema: {
    type: 'object',
    properties: { day: { type: 'string' } },
    required: ['day'],
  },
  handler: async ({ day }, context) => {
    const answer = await context.elicit({ message: `A table for ${day}`, schema: booking });
    if (answer.action !== 'accept') return `Nothing is booked: the user chose to ${answer.action}`;
    const { people, seating, email } = answer.content;
    const confirmation = email === undefined ? '' : `, confirmed to ${email}`;
    return `Booked for ${people}, ${seating}, on ${day}${confirmation}`;
  },
});

const server = createMcpServer({ name: 'restaurant', version: '1.0.0', tools: [bookTable] });

await server.listen(stdio()).closed;
