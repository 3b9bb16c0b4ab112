import { createMcpServer, definePrompt, defineTool } from 'mcp-actors';
import { z } from 'zod';

const roll = defineTool({
  name: 'roll_dice',
  description: 'Rolls dice. Use it if a number has to be random.',
  inputSchema: z.object({
    sides: z.int().min(2).max(1000).default(6),
    count: z.int().min(1).max(100).default(1).describe('How many dice'),
  }),
  outputSchema: z.object({ rolls: z.array(z.int()), sum: z.int() }),
  handler: ({ sides, count }) => {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    const sum = rolls.reduce((total, each) => total + each, 0);
    return { structured: { rolls, sum } };
  },
});

const adventure = definePrompt({
  name: 'adventure',
  description: 'Starts a story in which dice decide.',
  arguments: z.object({
    hero: z.string().describe('Who it is about'),
    // Clients send strings; `z.coerce` makes this a number.
    chapters: z.coerce.number().int().min(1).default(3),
  }),
  get: ({ hero, chapters }) =>
    `Tell a story about ${hero} in ${chapters} chapters. Roll dice for what happens next.`,
});

export const server = createMcpServer({
  name: 'my-server',
  version: '0.1.0',
  tools: [roll],
  prompts: [adventure],
});
