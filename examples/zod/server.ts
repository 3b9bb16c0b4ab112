import { createMcpServer, defineTool } from 'mcp-actors';
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

const server = createMcpServer({ name: 'thermometer', version: '1.0.0', tools: [convert] });

await serve(server);
