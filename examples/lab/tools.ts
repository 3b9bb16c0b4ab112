/** The lab's tools that ask the client for nothing but its roots. */
import { setTimeout as delay } from 'node:timers/promises';
import { defineTool } from 'mcp-actors';

/** The client's roots once they are settled, and their state. */
export const listRoots = defineTool({
  name: 'list_roots',
  title: 'List roots',
  description:
    "The client's roots as they are settled now, and what is known of them: known, undeclared, unsupported or failed.",
  annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  outputSchema: {
    type: 'object',
    properties: {
      status: { enum: ['known', 'undeclared', 'unsupported', 'failed'] },
      settled: { type: 'boolean', description: 'False while a newer list is being asked for.' },
      generation: { type: 'integer', description: 'Counts the lists that were published.' },
      roots: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            uri: { type: 'string' },
            name: { type: 'string' },
            problem: { type: 'object', description: 'Why the entry cannot be used.' },
          },
          required: ['uri'],
        },
      },
      problem: { type: 'string' },
    },
    required: ['status', 'settled', 'generation', 'roots'],
  },
  handler: async (_args, context) => ({ structured: await context.roots() }),
});

/** Takes its time, and ends early when it is cancelled. */
export const slow = defineTool({
  name: 'slow',
  title: 'Take some time',
  description: 'Answers after so many milliseconds. Ends at once when the request is cancelled.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { ms: { type: 'integer', minimum: 0, maximum: 3_600_000 } },
    required: ['ms'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: { sleptMs: { type: 'integer' } },
    required: ['sleptMs'],
  },
  handler: async ({ ms }, { signal }) => {
    await delay(ms, undefined, { signal });
    return { structured: { sleptMs: ms } };
  },
});

/** Repeats its input. */
export const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Gives the message back.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { message: { type: 'string' } },
    required: ['message'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: { message: { type: 'string' } },
    required: ['message'],
  },
  handler: ({ message }) => ({
    content: [{ type: 'text', text: message }],
    structured: { message },
  }),
});
