/**
 * A node of a server that is redeployed while its tasks wait. Its machine has different states in
 * each version.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { ToolAnswer } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { setup } from 'xstate';

const { STORE: durable = '', VERSION = '' } = process.env;

/** Requires input in a state of this name. */
const asking = (state: string) =>
  setup({
    types: { events: {} as ToolAnswer, tags: {} as 'waiting', output: {} as string },
  }).createMachine({
    id: 'confirming',
    initial: state,
    states: {
      [state]: {
        tags: 'waiting',
        meta: { ask: { elicit: { message: 'Sure?', schema: { type: 'object', properties: {} } } } },
        on: { 'answer.*': 'done' },
      },
      done: { type: 'final' },
    },
    output: `confirmed by ${VERSION}`,
  });

const common = { name: 'confirm', description: 'Asks', taskSupport: 'required' } as const;

const versions = {
  1: defineTool({ ...common, machine: asking('asking') }),
  2: defineTool({ ...common, machine: asking('checking') }),
  3: defineTool({
    ...common,
    machine: asking('checking'),
    migrate: ({ context }) => ({ value: 'checking', context }),
  }),
};

const tool = versions[VERSION as unknown as keyof typeof versions];
const server = createMcpServer({ name: 'versioned', version: VERSION, tools: [tool] });
await serve(server, { durable });
