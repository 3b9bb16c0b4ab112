/**
 * The events between a host's connection and its channel. A channel is one attempt to reach the
 * server: a launched process, an HTTP endpoint, another transport. A connection outlives any number
 * of them.
 */
import type { InputScope, TransportActors } from '../../../../src/machines/peer-ports.ts';
import type { Recipient } from '../../../../src/machines/port.ts';
import type { Loss } from '../../../../src/protocol/disconnects.ts';

/** What a channel takes. */
export type ChannelEvent =
  /**
   * End everything that belongs to the channel, its process included, then tell `channel.stopped`.
   * Repeating it changes nothing.
   */
  | { readonly type: 'channel.close' }
  /**
   * The handshake is done, in this revision. It comes before `notifications/initialized` and before
   * any request from the host, and again after each `session.expired`.
   */
  | { readonly type: 'channel.negotiated'; readonly revision: string }
  /**
   * The channel's reader has reached its end, or its writer cannot write. The connection passes
   * this on and waits: only the channel knows why, and tells `channel.lost` soon.
   */
  | { readonly type: 'input.ended' }
  | { readonly type: 'output.broken'; readonly error: unknown };

/** What a channel tells its connection. */
export type ChannelReport =
  /** Messages may be sent. */
  | { readonly type: 'channel.opened'; readonly ends: TransportActors }
  | { readonly type: 'channel.lost'; readonly loss: Loss }
  /** The channel and its process are gone. */
  | { readonly type: 'channel.stopped' }
  /**
   * The server wants a login, and the channel sees to it. The person's time does not count towards
   * the connection's. No message comes until `channel.authorized`.
   */
  | { readonly type: 'channel.challenged' }
  /** There is a login, and the requests that were refused without it are sent again. */
  | { readonly type: 'channel.authorized' }
  /**
   * The server no longer knows our session. Told once for each session, after the refused requests
   * were returned to the correlation. The channel stays open: the connection greets the server anew
   * over it, with a new session.
   */
  | { readonly type: 'session.expired' }
  /**
   * Someone else may be logged in from now on, and must not get what the server told their
   * predecessor.
   */
  | { readonly type: 'login.changed' };

export interface ChannelInput extends InputScope {
  readonly connection: Recipient<ChannelReport>;
}

/** What a person enters on another device (RFC 8628). All of it is from the authorization server. */
export interface DevicePrompt {
  /** Where the code is entered. */
  readonly verificationUri: string;
  /** The code. */
  readonly userCode: string;
  /** How long the code is valid, milliseconds. */
  readonly expiresInMs: number;
}
