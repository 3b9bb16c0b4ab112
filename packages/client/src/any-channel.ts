/** Opens connections to servers over any kind of channel, without waiting for them. */
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
    channelConnectionLogic.getInitialSnapshot(
      scope,
      connectionInput(entry, options, channelTo(entry, options)),
    ),
};

/**
 * Opens a connection without waiting for it. It is reopened after losses, as `restart` says, until
 * it is closed.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry names no server
 * @throws {RangeError} an option is wrong; names it
 */
export function openConnection(entry: ServerEntry, options: ConnectOptions = {}): Connection {
  return openChannel(connectionInput(entry, options, channelTo(entry, options)));
}

/** The kind of channel to a server. @throws {RuntimeError} CONFIG_INVALID */
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
  const message = `A server's entry must have "command", "url" or "transport", this is ${inspectValue(entry)}`;
  throw new RuntimeError('CONFIG_INVALID', message);
}
