/**
 * A module whose server is wanted, and not that it serves: `serve` hands the server over to whoever
 * loads the module. They may have two copies of this package, so what they share is global.
 */
import type { McpServer } from '../server/create-server.ts';

const key = Symbol.for('mcp-actors.takeServed');

interface Place {
  [key]?: ((server: McpServer) => void) | undefined;
}

const place = globalThis as Place;

/**
 * Runs something that may call `serve`, and gives what it comes to, or the server, if that is first.
 * The server is not served.
 */
export async function orServed<T>(run: () => Promise<T>): Promise<T | McpServer> {
  const served = new Promise<McpServer>((resolve) => {
    place[key] = resolve;
  });
  try {
    return await Promise.race([run(), served]);
  } finally {
    place[key] = undefined;
  }
}

/** True if somebody has taken the server. */
export function isTaken(server: McpServer): boolean {
  const take = place[key];
  take?.(server);
  return take !== undefined;
}
