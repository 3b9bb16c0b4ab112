/**
 * Connects to a server over any kind of channel. Code that launched servers do not need is loaded
 * lazily.
 */
import { addCallerFrames } from '../../../src/actors/caller-frames.ts';
import { environmentFor } from '../../processes/src/environment.ts';
import { connectionInput } from './connect-options.ts';
import type { ConnectOptions } from './connect-options.ts';
import type { Connection } from './connection/connection.ts';
import { openChannel } from './connection/open-connection.ts';
import type { ServerEntry } from './connection/options.ts';
import { stdioChannel } from './stdio/stdio-channel.actor.ts';

/**
 * Connects to a server and resolves once it is ready. A failed first attempt rejects and cleans up;
 * later disconnects are retried according to `restart`.
 *
 * @throws {RuntimeError} CONFIG_INVALID; SPAWN_FAILED, CONNECT_TIMEOUT, VERSION_UNSUPPORTED,
 *   PROTOCOL_VIOLATION, UNAUTHORIZED, HTTP_STATUS or CLOSED: the reason why the server is not
 *   ready; CANCELLED: `signal` was aborted
 * @throws {RangeError} an option is out of range
 */
export async function connect(
  entry: ServerEntry,
  options: ConnectOptions = {},
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    const isLaunched = 'command' in entry && !('transport' in entry);
    const channel = isLaunched
      ? stdioChannel(entry, options)
      : (await import('./any-channel.ts')).channelTo(entry, options);
    const opened = (connection = openChannel(connectionInput(entry, options, channel)));
    await opened.firstReady({ signal: options.signal });
    return opened;
  } catch (error) {
    await connection?.close();
    throw addCallerFrames(error);
  }
}

/**
 * Cache key of the host's identity as the server sees it; empty if the entry alone determines it.
 * Undefined if the identity is unknown before connecting: with a login, a token function, a custom
 * `fetch` or `dispatcher`, or the whole inherited environment.
 *
 * @see MCP 2026-07-28, server/utilities/caching, "Cache Scope Field"
 */
export function callerOf(
  entry: ServerEntry,
  { auth, fetch, dispatcher, inheritEnv = false }: ConnectOptions,
): string | undefined {
  if ('command' in entry) {
    if (inheritEnv === true) return undefined;
    return inheritEnv === false ? '' : JSON.stringify(environmentFor(entry.env, inheritEnv));
  }
  if (fetch !== undefined || dispatcher !== undefined) return undefined;
  if (auth === undefined || auth === false) return '';
  const isToken = auth !== true && auth.kind === 'bearer' && typeof auth.token === 'string';
  return isToken ? auth.token : undefined;
}
