/** Tools that clients call as tasks, and one that is too quick for that. */
import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, ProtocolError, ToolError, defineForm, defineTool } from 'mcp-actors';
import type { Tool } from 'mcp-actors';

const greet = defineTool({
  name: 'greet',
  description: 'Greets somebody, at once',
  inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  handler: ({ name }) => `Hello, ${name}!`,
});

const slowCompute = defineTool({
  name: 'slow_compute',
  description: 'Computes for so many seconds',
  taskSupport: 'optional',
  inputSchema: {
    type: 'object',
    properties: {
      seconds: { type: 'number', minimum: 0, maximum: 600 },
      label: { type: 'string' },
    },
    required: ['seconds'],
  },
  handler: async ({ seconds, label = 'nothing' }, { signal }) => {
    await delay(seconds * 1000, undefined, { signal });
    return `Computed ${label} for ${seconds} seconds`;
  },
});

const failingJob = defineTool({
  name: 'failing_job',
  description: 'Fails, and tells the model why; only as a task',
  taskSupport: 'required',
  handler: () => {
    throw new ToolError('The job has failed, as it always does');
  },
});

const protocolErrorJob = defineTool({
  name: 'protocol_error_job',
  description: 'Fails with an error of the protocol',
  taskSupport: 'optional',
  handler: () => {
    throw new ProtocolError(ErrorCode.internalError, 'The job has failed with an error');
  },
});

const confirmation = defineForm({
  type: 'object',
  properties: { confirm: { type: 'boolean' } },
  required: ['confirm'],
});

const confirmDelete = defineTool({
  name: 'confirm_delete',
  description: 'Asks the user before it deletes a file, which it does not really do',
  taskSupport: 'optional',
  inputSchema: {
    type: 'object',
    properties: { filename: { type: 'string' } },
    required: ['filename'],
  },
  handler: async ({ filename }, context) => {
    const answer = await context.elicit({ message: `Delete ${filename}?`, schema: confirmation });
    const isConfirmed = answer.action === 'accept' && answer.content.confirm;
    return isConfirmed ? `Deleted ${filename}` : `${filename} stays`;
  },
});

const multiInput = defineTool({
  name: 'multi_input',
  description: 'Asks the user two things at once',
  taskSupport: 'optional',
  handler: async (_args, context) => {
    const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
    const answers = await Promise.all([
      context.elicit({ message: 'Who comes first?', schema }),
      context.elicit({ message: 'Who comes second?', schema }),
    ]);
    return `Answered: ${answers.map(({ action }) => action).join(', ')}`;
  },
});

export const taskTools: readonly Tool[] = [
  greet,
  slowCompute,
  failingJob,
  protocolErrorJob,
  confirmDelete,
  multiInput,
];
