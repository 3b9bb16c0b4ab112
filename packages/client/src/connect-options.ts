/** Options of a connection over any kind of channel, and the actor input built from them. */
import { secretsGiven } from '../../diagnostics/src/secrets.ts';
import { loginTimeFor } from './auth/options.ts';
import type { AuthOption } from './auth/options.ts';
import type { ChannelKind } from './channel/channel-kind.ts';
import type { HostConnectionInput } from './connection/host-connection.ts';
import type { ConnectionOptions, ServerEntry } from './connection/options.ts';
import type { HttpChannelKindOptions } from './http/http-channel-kind.ts';

/** Options of a connection over any kind of channel. */
export interface ConnectOptions
  extends ConnectionOptions, Omit<HttpChannelKindOptions, 'authorization'> {
  /**
   * Login for servers reached over HTTP; `true` asks a person. Without it, connecting to a server
   * that requires a login fails.
   */
  readonly auth?: AuthOption;
}

/** @throws {RangeError} the login timeouts contradict each other */
export function connectionInput(
  entry: ServerEntry,
  options: ConnectOptions,
  channel: ChannelKind,
): HostConnectionInput {
  const secrets = 'transport' in entry ? [] : secretsGiven(entry);
  const kind = Object.assign(channel, { secrets });
  // A spread would give each connection its own hidden class.
  const given: HostConnectionInput = Object.assign({ kind }, options);
  const { auth, limits } = options;
  const loginTimeoutMs = loginTimeFor(auth, limits?.loginTimeoutMs);
  if (loginTimeoutMs === limits?.loginTimeoutMs) return given;
  return { ...given, limits: { ...limits, loginTimeoutMs } };
}
