/** Opens connections to servers over any kind of channel. */
import { withCallers } from '../actors/caller-frames.ts';
import { secretsGiven } from '../diagnosis/secrets.ts';
import { describe } from '../protocol/classify.ts';
import { RuntimeError } from '../protocol/errors.ts';
import { hostAuthorization } from './auth/host-authorization.ts';
import { authWith, loginTimeFor } from './auth/options.ts';
import type { AuthOption } from './auth/options.ts';
import type { ChannelKind } from './channel/channel-kind.ts';
import { sdkChannel } from './channel/sdk-channel.actor.ts';
import type { Connection } from './connection/connection.ts';
import type { HostConnectionInput } from './connection/host-connection.ts';
import { channelConnectionLogic, openChannel } from './connection/open-connection.ts';
import type { ConnectionLogic } from './connection/open-connection.ts';
import type { ConnectionOptions, ServerEntry } from './connection/options.ts';
import { addressOf } from './http/address.ts';
import { httpChannelKind } from './http/http-channel-kind.ts';
import type { HttpChannelKindOptions } from './http/http-channel-kind.ts';
import { environmentFor } from '../processes/environment.ts';
import { stdioChannel } from './stdio/stdio-channel.actor.ts';

/** The options of a connection over any kind of channel. */
export interface ConnectOptions
  extends ConnectionOptions, Omit<HttpChannelKindOptions, 'authorization'> {
  /**
   * Allows a login over HTTP; `true`: a person is asked. Without it, a connection to a server that
   * wants a login fails.
   */
  readonly auth?: AuthOption;
}

/** The input of {@link connectionLogic}. */
export interface ConnectionLogicInput extends ConnectOptions {
  /** How the server is reached. */
  readonly entry: ServerEntry;
}

/**
 * A connection as XState actor logic, for the host's machine to invoke or spawn. It opens when it
 * starts, and is done once it was closed. See {@link ConnectionLogic}.
 */
export const connectionLogic: ConnectionLogic<ConnectionLogicInput> = {
  ...channelConnectionLogic,
  getInitialSnapshot: (scope, { entry, ...options }) =>
    channelConnectionLogic.getInitialSnapshot(scope, channelOptions(entry, options)),
};

/**
 * Opens a connection without waiting for it. It is reopened after losses, as `restart` says, until
 * it is closed.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry names no server
 * @throws {RangeError} an option is wrong; names it
 */
export function openConnection(entry: ServerEntry, options: ConnectOptions = {}): Connection {
  return openChannel(channelOptions(entry, options));
}

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
    const opened = (connection = openChannel(channelOptions(entry, options)));
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

function channelOptions(entry: ServerEntry, options: ConnectOptions): HostConnectionInput {
  const secrets = 'transport' in entry ? [] : secretsGiven(entry);
  const kind = Object.assign(channelTo(entry, options), { secrets });
  const { auth, limits } = options;
  const loginTimeoutMs = loginTimeFor(auth, limits?.loginTimeoutMs);
  if (loginTimeoutMs === undefined) return { ...options, kind };
  return { ...options, kind, limits: { ...limits, loginTimeoutMs } };
}

/** The kind of channel to a server. @throws {RuntimeError} CONFIG_INVALID */
function channelTo(entry: ServerEntry, options: ConnectOptions): ChannelKind {
  if ('transport' in entry) return sdkChannel(entry.transport);
  if ('command' in entry) return stdioChannel(entry, options);
  if ('url' in entry) {
    const authorization = hostAuthorization(
      addressOf(entry, options.allowInsecure).url,
      authWith(options.auth, entry.oauth),
    );
    return httpChannelKind(entry, { ...options, authorization });
  }
  const message = `A server's entry must have "command", "url" or "transport", this is ${describe(entry)}`;
  throw new RuntimeError('CONFIG_INVALID', message);
}
