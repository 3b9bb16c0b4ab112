import { defineTool } from '../../../src/index.ts';
import type { gate } from '../../testing/src/index.ts';

/** A tool that ends the connection of its call, and has its result once it is let go: its client polls. */
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
