import { type } from 'arktype';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const unit = type("'celsius' | 'fahrenheit'");

const convert = defineTool({
  name: 'convert',
  description: 'Converts a temperature to the other unit.',
  inputSchema: type({
    degrees: 'number >= -459.67',
    from: unit.default('celsius'),
    digits: '0 <= number.integer <= 6 = 1',
  }),
  outputSchema: type({ degrees: 'number', unit }),
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
