/**
 * Events between a connection and its channel. A channel is one attempt to reach the server: a
 * launched process, an HTTP endpoint, another transport. A connection outlives any number of
 * channels.
 */
import type { InputScope, TransportActors } from '../../../../src/machines/peer-ports.ts';
import type { Recipient } from '../../../../src/machines/port.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';

/** Events from the connection to its channel. */
export type ChannelEvent =
  /**
   * Shuts the channel down, including its process, and then reports `channel.stopped`. Idempotent.
   */
  | { readonly type: 'channel.close' }
  /**
   * The handshake agreed on this revision. Sent before `notifications/initialized` and before any
   * request from the host, and again after each `session.expired`.
   */
  | { readonly type: 'channel.negotiated'; readonly revision: string }
  /**
   * The channel's reader reached its end, or its writer cannot write. The connection forwards this
   * and waits: only the channel knows the reason, and soon reports `channel.lost`.
   */
  | { readonly type: 'input.ended' }
  | { readonly type: 'output.broken'; readonly error: unknown };

/** Events from a channel to its connection. */
export type ChannelReport =
  /** The channel is ready to send messages. */
  | { readonly type: 'channel.opened'; readonly ends: TransportActors }
  | { readonly type: 'channel.lost'; readonly loss: ConnectionLoss }
  /** The channel and its process are gone. */
  | { readonly type: 'channel.stopped' }
  /**
   * The server requires a login, which the channel handles. The person's time does not count
   * towards the connection's timeouts. No messages arrive until `channel.authorized`.
   */
  | { readonly type: 'channel.challenged' }
  /** The login succeeded, and the requests rejected without it are resent. */
  | { readonly type: 'channel.authorized' }
  /**
   * The server no longer knows our session. Reported once per session, after the rejected requests
   * went back to the correlation. The channel stays open, and the connection initializes a new
   * session over it.
   */
  | { readonly type: 'session.expired' }
  /**
   * A different person may be logged in from now on, and must not see data fetched for the previous
   * one.
   */
  | { readonly type: 'login.changed' };

export interface ChannelInput extends InputScope {
  readonly connection: Recipient<ChannelReport>;
}

/** Prompt for a login on another device (RFC 8628), as sent by the authorization server. */
export interface DevicePrompt {
  /** URL of the page where the person enters the code. */
  readonly verificationUri: string;
  readonly userCode: string;
  /** Lifetime of the code, ms. */
  readonly expiresInMs: number;
}
