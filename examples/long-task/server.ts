/**
 * A tool that takes minutes. A 2025-11-25 client may call it as a task: it gets a response at once,
 * polls the progress, and fetches the result when ready. Other clients see an ordinary tool with
 * progress.
 *
 * npx tsx examples/long-task/server.ts
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

/** Numbers checked before yielding to other work. */
const slice = 20_000;

// #region tool
const countPrimes = defineTool({
  name: 'count_primes',
  title: 'Count primes',
  description: 'Counts the primes below a number. Takes minutes if it is large: call it as a task.',
  taskSupport: 'optional',
  inputSchema: {
    type: 'object',
    properties: { below: { type: 'integer', minimum: 2, maximum: 1_000_000_000 } },
    required: ['below'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: { count: { type: 'integer' } },
    required: ['count'],
  },
  handler: async ({ below }, context) => {
    let count = 0;
    for (let from = 2; from < below; from += slice) {
      // Cancelling the task aborts the signal.
      context.signal.throwIfAborted();
      const to = Math.min(from + slice, below);
      for (let n = from; n < to; n++) if (isPrime(n)) count++;
      const message = `${count} primes below ${to}`;
      context.progress(to, { total: below, message });
      context.task?.describe(message);
      await nextTurn();
    }
    return { structured: { count } };
  },
});
// #endregion

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false;
  return true;
}

const server = createMcpServer({ name: 'long-task', version: '1.0.0', tools: [countPrimes] });

await serve(server, { limits: { taskPollIntervalMs: 100, maxTasks: 4 } });
