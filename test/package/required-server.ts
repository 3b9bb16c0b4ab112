/** A server in a project without `"type": "module"`, where tsx loads the library with require. */
import { createMcpServer, defineTool, ToolError } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { assign, setup } from 'xstate';
import { z } from 'zod';

const question = { message: 'Which day?', schema: z.object({ day: z.string() }) };
const inputSchema = { type: 'object' } as const;

const asking = setup({ types: {} as { context: { day: string }; output: string } }).createMachine({
  context: { day: '' },
  initial: 'asking',
  output: ({ context }) => `machine ${context.day}`,
  states: {
    asking: {
      tags: 'waiting',
      meta: {
        ask: {
          elicit: {
            message: 'Which day?',
            schema: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
          },
        },
      },
      on: {
        'answer.accepted': {
          target: 'done',
          actions: assign({ day: ({ event }) => event['content'].day }),
        },
        'answer.*': 'done',
      },
    },
    done: { type: 'final' },
  },
});

const server = createMcpServer({
  name: 'required',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'durable',
      description: 'Test tool.',
      inputSchema,
      durable: true,
      handler: async (_, { once, elicit }) => {
        const value = await once('value', () => 42);
        const answer = await elicit(question);
        return `durable ${value} ${answer.action === 'accept' ? answer.content.day : ''}`;
      },
    }),
    defineTool({
      name: 'suspended',
      description: 'Test tool.',
      inputSchema,
      handler: async (_, { elicit }) => `suspended ${(await elicit(question)).action}`,
    }),
    defineTool({ name: 'machine', description: 'Test tool.', inputSchema, machine: asking }),
    defineTool({
      name: 'task',
      description: 'Test tool.',
      inputSchema,
      taskSupport: 'required',
      handler: () => {
        throw new ToolError('no stock');
      },
    }),
  ],
});

export default server;
if (process.argv.includes('serve')) void serve(server, { durable: process.argv.at(-1) });
