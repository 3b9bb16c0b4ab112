/** The options of a connection over any kind of channel, and what they say of its actor. */
import { secretsGiven } from '../../diagnostics/src/secrets.ts';
import { loginTimeFor } from './auth/options.ts';
import type { AuthOption } from './auth/options.ts';
import type { ChannelKind } from './channel/channel-kind.ts';
import type { HostConnectionInput } from './connection/host-connection.ts';
import type { ConnectionOptions, ServerEntry } from './connection/options.ts';
import type { HttpChannelKindOptions } from './http/http-channel-kind.ts';

/** The options of a connection over any kind of channel. */
export interface ConnectOptions
  extends ConnectionOptions, Omit<HttpChannelKindOptions, 'authorization'> {
  /**
   * Allows a login over HTTP; `true`: a person is asked. Without it, a connection to a server that
   * wants a login fails.
   */
  readonly auth?: AuthOption;
}

/** @throws {RangeError} the times of a login contradict each other */
export function connectionInput(
  entry: ServerEntry,
  options: ConnectOptions,
  channel: ChannelKind,
): HostConnectionInput {
  const secrets = 'transport' in entry ? [] : secretsGiven(entry);
  const kind = Object.assign(channel, { secrets });
  // Not by spreads: each connection would have a hidden class of its own.
  const given: HostConnectionInput = Object.assign({ kind }, options);
  const { auth, limits } = options;
  const loginTimeoutMs = loginTimeFor(auth, limits?.loginTimeoutMs);
  if (loginTimeoutMs === limits?.loginTimeoutMs) return given;
  return { ...given, limits: { ...limits, loginTimeoutMs } };
}
