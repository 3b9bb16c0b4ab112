import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import * as v from 'valibot';

const unit = v.picklist(['celsius', 'fahrenheit']);

const convert = defineTool({
  name: 'convert',
  description: 'Converts a temperature to the other unit.',
  inputSchema: toStandardJsonSchema(
    v.object({
      degrees: v.pipe(v.number(), v.minValue(-459.67)),
      from: v.optional(unit, 'celsius'),
      digits: v.optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(0),
          v.maxValue(6),
          v.description('digits after the point'),
        ),
        1,
      ),
    }),
  ),
  outputSchema: toStandardJsonSchema(v.object({ degrees: v.number(), unit })),
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
