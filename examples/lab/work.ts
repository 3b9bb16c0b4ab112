/** Tools of the lab that take time. */
import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, ProtocolError, ToolError, defineTool } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';

const durationMs = { type: 'integer', minimum: 0, maximum: 3_600_000 } as const;

const slept = {
  type: 'object',
  properties: { sleptMs: { type: 'integer' } },
  required: ['sleptMs'],
} as const;

const steps = 5;

/** Sleeps in steps and reports progress before each. */
async function sleep(ms: number, { progress, signal }: HandlerContext): Promise<void> {
  for (let step = 0; step < steps; step++) {
    progress(step, { total: steps });
    await delay(ms / steps, undefined, { signal });
  }
}

/** Unfinished calls of `slow` from all clients. */
const open = new Set<HandlerContext>();

/** Takes the requested time and stops early if cancelled. */
export const slow = defineTool({
  name: 'slow',
  title: 'Take some time',
  description:
    'Answers after so many milliseconds, and reports its progress. Ends at once when the request is cancelled.',
  annotations: { readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: { ms: durationMs },
    required: ['ms'],
    additionalProperties: false,
  },
  outputSchema: slept,
  handler: async ({ ms }, context) => {
    open.add(context);
    try {
      await sleep(ms, context);
      return { structured: { sleptMs: ms } };
    } finally {
      open.delete(context);
    }
  },
});

/** Counts running calls of `slow`. */
export const countRunning = defineTool({
  name: 'running',
  title: 'Count slow calls',
  description: 'Says how many calls of slow run now.',
  annotations: { readOnlyHint: true },
  outputSchema: {
    type: 'object',
    properties: { running: { type: 'integer' } },
    required: ['running'],
  },
  handler: () => {
    // Cancelled calls end shortly.
    const running = [...open].filter(({ signal }) => !signal.aborted).length;
    return { structured: { running } };
  },
});

/** Work that a client may call as a task. */
export const job = defineTool({
  name: 'job',
  title: 'Do a job',
  description:
    'Works for so many milliseconds: as a task if the client can have one, else within the call. It may ask first, and may fail.',
  taskSupport: 'optional',
  inputSchema: {
    type: 'object',
    properties: {
      ms: durationMs,
      ask: { type: 'boolean', description: 'Ask a person first whether to begin.' },
      fail: { enum: ['tool', 'protocol'], description: 'How to fail at the end.' },
    },
    required: ['ms'],
    additionalProperties: false,
  },
  outputSchema: slept,
  handler: async ({ ms, ask, fail }, context) => {
    if (ask === true) {
      const { action } = await context.elicit({
        message: 'The laboratory has a job to do. Shall it begin?',
        schema: { type: 'object', properties: { begin: { type: 'boolean' } } },
      });
      if (action !== 'accept') throw new ToolError(`Nobody let the job begin: ${action}`);
    }
    context.task?.describe('The job is being done');
    await sleep(ms, context);
    if (fail === 'tool') throw new ToolError('The job has failed, as it was told to');
    if (fail === 'protocol') {
      throw new ProtocolError(ErrorCode.internalError, 'The job has failed, as it was told to');
    }
    return { structured: { sleptMs: ms } };
  },
});
