import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

// #region form
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
// #endregion

const cardPage = 'https://restaurant.example/card';

// #region url
const keepCard = defineTool({
  name: 'keep_card',
  description: 'Lets the user leave a card, on a page of the restaurant’s.',
  handler: async (_args, context) => {
    const { action } = await context.elicitUrl({
      message: 'Leave a card to hold your table.',
      url: (id) => `${cardPage}?elicitation=${id}`,
    });
    // The user has agreed to open the page, and may not have finished there.
    return action === 'accept' ? 'The page is open' : `No card: the user chose to ${action}`;
  },
});
// #endregion

// #region url required
const orderAhead = defineTool({
  name: 'order_ahead',
  description: 'Orders a menu ahead; needs a card.',
  handler: (_args, context) => {
    throw context.urlElicitationRequired([
      { message: 'Leave a card first.', url: (id) => `${cardPage}?elicitation=${id}` },
    ]);
  },
});
// #endregion

const server = createMcpServer({
  name: 'restaurant',
  version: '1.0.0',
  tools: [bookTable, keepCard, orderAhead],
});

await serve(server);
