/** Opens connections over any kind of channel, without waiting for the handshake. */
import { inspectValue } from '../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import { hostAuthorization } from './auth/host-authorization.ts';
import { authWith } from './auth/options.ts';
import type { ChannelKind } from './channel/channel-kind.ts';
import { sdkChannel } from './channel/sdk-channel.actor.ts';
import { connectionInput } from './connect-options.ts';
import type { ConnectOptions } from './connect-options.ts';
import type { Connection } from './connection/connection.ts';
import { channelConnectionLogic, openChannel } from './connection/open-connection.ts';
import type { ConnectionLogic } from './connection/open-connection.ts';
import type { ServerEntry } from './connection/options.ts';
import { addressOf } from './http/address.ts';
import { httpChannelKind } from './http/http-channel-kind.ts';
import { stdioChannel } from './stdio/stdio-channel.actor.ts';

/** Input of {@link connectionLogic}. */
export interface ConnectionLogicInput extends ConnectOptions {
  /** Server address: a command, a URL or a transport. */
  readonly entry: ServerEntry;
}

/**
 * A connection as XState actor logic, to invoke or spawn from the host's machine. The connection
 * opens when the actor starts; the actor is done once the connection is closed. See {@link
 * ConnectionLogic}.
 */
export const connectionLogic: ConnectionLogic<ConnectionLogicInput> = {
  ...channelConnectionLogic,
  getInitialSnapshot: (scope, { entry, ...options }) =>
    channelConnectionLogic.getInitialSnapshot(
      scope,
      connectionInput(entry, options, channelTo(entry, options)),
    ),
};

/**
 * Opens a connection without waiting for the handshake. A lost connection is reopened according to
 * `restart` until `close()`.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry names no server
 * @throws {RangeError} an option is out of range
 */
export function openConnection(entry: ServerEntry, options: ConnectOptions = {}): Connection {
  return openChannel(connectionInput(entry, options, channelTo(entry, options)));
}

/** Chooses the channel for an entry. @throws {RuntimeError} CONFIG_INVALID */
export function channelTo(entry: ServerEntry, options: ConnectOptions): ChannelKind {
  if ('transport' in entry) return sdkChannel(entry.transport);
  if ('command' in entry) return stdioChannel(entry, options);
  if ('url' in entry) {
    const authorization = hostAuthorization(
      addressOf(entry, options.allowInsecure).url,
      authWith(options.auth, entry.oauth),
    );
    return httpChannelKind(entry, { ...options, authorization });
  }
  const message = `A server entry must have "command", "url" or "transport", got ${inspectValue(entry)}`;
  throw new RuntimeError('CONFIG_INVALID', message);
}
