/** `--inspect=stately`: the official inspector. */
import { inspectStately } from '../inspect/stately/inspect-stately.ts';
import type { StatelyInspection } from '../inspect/stately/inspect-stately.ts';
import { UsageError } from './command.ts';

/**
 * Sends the session to a receiver on this machine, and says on stderr where.
 *
 * @throws {UsageError} the inspector's package is not installed
 */
export async function openStately(port: number) {
  const inspection = await inspectionOn(`ws://127.0.0.1:${port}`);
  process.stderr.write(
    `mcp-actors: the session is sent to the inspector at ${inspection.url}, whenever one listens there\n`,
  );
  return { options: { watchers: [inspection.watcher] }, close: () => inspection.close() };
}

async function inspectionOn(url: string): Promise<StatelyInspection> {
  try {
    return await inspectStately({
      url,
      warn: (message) => process.stderr.write(`mcp-actors: ${message}\n`),
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError(`--inspect=stately: ${(error as Error).message}`, { cause: error });
  }
}
