/** `--inspect`: inspectors of served sessions, loaded on demand. */
import type { InspectedPage, StatelyInspection } from '@mcp-actors/inspector';
import type { ConnectionWatcher } from 'mcp-actors/client';
import type { ListenOptions } from 'mcp-actors';
import { UsageError, addressFault } from './command.ts';

/** Inspector selected by `--inspect`. */
export type InspectorSettings =
  /** Our page. Without a port, the system chooses one. */
  | { readonly kind: 'page'; readonly port: number | undefined }
  /** The Stately inspector, listening on this port. */
  | { readonly kind: 'stately'; readonly port: number };

/** A running inspector. */
export interface SessionInspector {
  /** Options for the session. */
  readonly options: Pick<ListenOptions, 'inspect' | 'watchers'>;
  /** Watchers for a host's connection. */
  readonly connectionWatchers: readonly ConnectionWatcher[];
  /** Shows the address of the server until the first session opens. */
  serves(place: string): void;
  close(): Promise<void>;
}

const form = /^(?:(stately)(?::|$))?(\d{1,5})?$/;
const highestPort = 65_535;
/** Default port of the Stately inspector. */
const statelyPort = 8080;

/**
 * Parses `--inspect`.
 *
 * @throws {UsageError} if it is neither a port nor a known name
 */
export function readInspectorSettings(value: string | undefined): InspectorSettings | undefined {
  if (value === undefined) return undefined;
  if (value === '') return { kind: 'page', port: undefined };
  if (value === 'stately') return { kind: 'stately', port: statelyPort };
  const [, stately, digits] = form.exec(value) ?? [];
  const port = Number(digits);
  if (port >= 1 && port <= highestPort) return { kind: stately ? 'stately' : 'page', port };
  throw new UsageError(
    `--inspect must be a port from 1 to ${highestPort}, "stately" or "stately:PORT", got ${JSON.stringify(value)}; omit the value to use a free port`,
  );
}

/**
 * Starts an inspector. Call it before the session starts.
 *
 * @throws {UsageError} if it cannot start, for example because its port is in use
 */
export async function openInspector(wish: InspectorSettings): Promise<SessionInspector> {
  switch (wish.kind) {
    case 'page': {
      const page = await openPage(wish.port, 'session');
      const watchers = [page.watcher];
      const { addEndpoint: serves, close } = page;
      return { options: { watchers }, connectionWatchers: watchers, serves, close };
    }
    case 'stately': {
      const inspection = await openStately(wish.port, 'session is');
      const watchers = [inspection.watcher];
      const { close } = inspection;
      return { options: { watchers }, connectionWatchers: watchers, serves: () => {}, close };
    }
  }
}

/**
 * Serves the page and prints its URL to stderr.
 *
 * @throws {UsageError} if the port is in use or invalid
 */
export async function openPage(
  port: number | undefined,
  what: 'session' | 'connections',
): Promise<InspectedPage> {
  const page = await pageOn(port);
  process.stderr.write(`mcp-actors: open ${page.url} to see the ${what}\n`);
  return page;
}

async function pageOn(port: number | undefined): Promise<InspectedPage> {
  const { inspectPage } = await import('@mcp-actors/inspector');
  try {
    return await inspectPage(port === undefined ? {} : { port });
  } catch (error) {
    const fault = addressFault(error);
    if (fault === undefined) throw error;
    throw new UsageError(`--inspect: ${fault}; omit the value to use a free port`, {
      cause: error,
    });
  }
}

/**
 * Connects to the Stately inspector on this machine and prints its URL to stderr.
 *
 * @param what subject and verb for the message
 * @throws {UsageError} if the inspector's package is not installed
 */
export async function openStately(
  port: number,
  what: 'session is' | 'connections are',
): Promise<StatelyInspection> {
  const inspection = await inspectionOn(`ws://127.0.0.1:${port}`);
  process.stderr.write(
    `mcp-actors: the ${what} sent to the inspector at ${inspection.url} while one is listening there\n`,
  );
  return inspection;
}

async function inspectionOn(url: string): Promise<StatelyInspection> {
  const { inspectStately } = await import('@mcp-actors/inspector');
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
