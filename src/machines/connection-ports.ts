/**
 * The events between a host's connection and its channel. A channel is one attempt to reach the
 * server: a launched process, an HTTP endpoint, another transport. A connection outlives any number
 * of them.
 */
import type { InputScope, TransportEnds } from './peer-ports.ts';
import type { Recipient } from './port.ts';

/** Why a connection was lost, or could not be made. */
export type Loss =
  /** The process has ended by itself, or was killed. `stderr`: its last lines. */
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr: string;
      /** Variables of the host that these lines name and that the process did not inherit. */
      readonly withheld?: readonly string[];
    }
  /** The command could not be started. */
  | { readonly kind: 'spawn-failed'; readonly error: unknown }
  /** The server has closed its output; it may still run. */
  | { readonly kind: 'input-ended'; readonly stderr?: string }
  /** The server no longer takes input. */
  | { readonly kind: 'output-broken'; readonly error: unknown; readonly stderr?: string }
  /** It was not ready in time. */
  | { readonly kind: 'timeout'; readonly timeoutMs: number; readonly stderr?: string }
  /** It refused the handshake, or gave an answer that the protocol does not allow. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** An HTTP status that says nothing about an era or a session. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly message: string;
      /** How long the server wants to be left alone, milliseconds. */
      readonly retryAfterMs?: number;
    }
  /** The endpoint cannot be reached. */
  | { readonly kind: 'unreachable'; readonly error: unknown }
  /** It requires a login, which was not given or was refused. */
  | { readonly kind: 'unauthorized'; readonly error: Error }
  /** The host has asked for a new connection. */
  | { readonly kind: 'reconnect' }
  /** An actor of the connection failed: a bug. */
  | { readonly kind: 'failure'; readonly error: unknown };

/** Whether another attempt would fail in the same way. */
export function forbidsRetry({ kind }: Loss): boolean {
  return kind === 'spawn-failed' || kind === 'unauthorized' || kind === 'failure';
}

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
  | { readonly type: 'channel.opened'; readonly ends: TransportEnds }
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
