/** Connects to servers over any kind of channel. Whatever a launched server does without is loaded with the first other one. */
import { withCallers } from '../../../src/actors/caller-frames.ts';
import { environmentFor } from '../../processes/src/environment.ts';
import { connectionInput } from './connect-options.ts';
import type { ConnectOptions } from './connect-options.ts';
import type { Connection } from './connection/connection.ts';
import { openChannel } from './connection/open-connection.ts';
import type { ServerEntry } from './connection/options.ts';
import { stdioChannel } from './stdio/stdio-channel.actor.ts';

/**
 * Connects to a server, and resolves once it is ready. If the first attempt fails, this rejects and
 * leaves nothing behind; later losses are followed by new attempts, as `restart` says.
 *
 * @throws {RuntimeError} CONFIG_INVALID; SPAWN_FAILED, CONNECT_TIMEOUT, VERSION_UNSUPPORTED,
 *   PROTOCOL_VIOLATION, UNAUTHORIZED, HTTP_STATUS, CLOSED: why the server is not ready; CANCELLED:
 *   the `signal` was aborted
 * @throws {RangeError} an option is wrong; names it
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
    throw withCallers(error);
  }
}

/**
 * Identifies the host as the server will see it, as a text; empty if the entry alone decides it.
 * Undefined if it is not known before connecting: with a login, a token function, the host's own
 * `fetch` or `dispatcher`, or the whole environment.
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
