/** `--inspect` and `--inspect=PORT`: the local page. */
import { inspectPage } from '../inspect/inspect-page.ts';
import type { InspectedPage } from '../inspect/inspect-page.ts';
import { UsageError } from './command.ts';

/**
 * Serves the page and says on stderr where it is.
 *
 * @throws {UsageError} the port cannot be had
 */
export async function openPage(port: number | undefined) {
  const page = await pageOn(port);
  process.stderr.write(`mcp-actors: open ${page.url} to see the session\n`);
  return { options: { watchers: [page.watcher] }, close: () => page.close() };
}

async function pageOn(port: number | undefined): Promise<InspectedPage> {
  try {
    return await inspectPage(port === undefined ? {} : { port });
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const reason = code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${String(code)})`;
    throw new UsageError(`--inspect: port ${port} ${reason}; without a value a free one is taken`, {
      cause: error,
    });
  }
}
