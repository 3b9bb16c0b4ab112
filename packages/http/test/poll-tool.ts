import { defineTool } from '../../../src/index.ts';
import type { gate } from '../../testing/src/index.ts';

/** A tool that closes its call's connection and returns after a gate, so that its client polls. */
export function pollTool(held: ReturnType<typeof gate>) {
  return defineTool({
    name: 'poll',
    description: 'Closes its connection',
    handler: async (_, { http }) => {
      http?.closeConnection();
      await held.pass();
      return 'done';
    },
  });
}
