import { createMcpServer, definePrompt, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { z } from 'zod';

const unit = z.enum(['celsius', 'fahrenheit']);

const convert = defineTool({
  name: 'convert',
  description: 'Converts a temperature to the other unit.',
  inputSchema: z.object({
    degrees: z.number().min(-459.67),
    from: unit.default('celsius'),
    digits: z.int().min(0).max(6).default(1).describe('digits after the point'),
  }),
  outputSchema: z.object({ degrees: z.number(), unit }),
  handler: ({ degrees, from, digits }) => {
    const result = from === 'celsius' ? degrees * 1.8 + 32 : (degrees - 32) / 1.8;
    return {
      structured: {
        degrees: Number(result.toFixed(digits)),
        unit: from === 'celsius' ? 'fahrenheit' : 'celsius',
      },
    };
  },
});

// #region prompt
const advise = definePrompt({
  name: 'advise',
  description: 'Asks what to wear.',
  arguments: z.object({
    degrees: z.coerce.number().describe('how warm it is'),
    unit: unit.default('celsius'),
  }),
  complete: { unit: (value) => unit.options.filter((each) => each.startsWith(value)) },
  // Prompt arguments are strings: a client sends "21", and `degrees` is the number 21.
  get: ({ degrees, unit }) => `It is ${degrees.toFixed(1)} degrees ${unit}. What shall I wear?`,
});
// #endregion

const server = createMcpServer({
  name: 'thermometer',
  version: '1.0.0',
  tools: [convert],
  prompts: [advise],
});

await serve(server);
