/**
 * What a host's connection and its channel say to each other. A channel is one attempt's way to the
 * server: a process that was launched, an HTTP endpoint, another transport. A connection lives over
 * any number of them.
 */
import type { Port, Ref } from './port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  InputScope,
  WriterEvent,
  WriterInput,
} from './peer-ports.ts';

/** The two actors that carry a channel's messages. The connection starts them. */
export interface ChannelEnds {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

/** Why there is no connection any more, or none came about. */
export type Loss =
  /** The process has ended: by itself, or killed by somebody. `stderr`: the last lines of it. */
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr: string;
      /** Variables of the host's that these lines name, and that it has not inherited. */
      readonly withheld?: readonly string[];
    }
  /** The command could not be started. */
  | { readonly kind: 'spawn-failed'; readonly error: unknown }
  /** The server has closed its output, and may still run. */
  | { readonly kind: 'input-ended'; readonly stderr?: string }
  /** The server takes no input any more. */
  | { readonly kind: 'output-broken'; readonly error: unknown; readonly stderr?: string }
  /** It was not ready within the time it had. */
  | { readonly kind: 'timeout'; readonly timeoutMs: number; readonly stderr?: string }
  /** It has refused the handshake, or answered it with what the protocol does not allow. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** An HTTP status that means neither an era nor a session. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly message: string;
      /** How long the server wants to be left alone, milliseconds. */
      readonly retryAfterMs?: number;
    }
  /** The endpoint cannot be reached. */
  | { readonly kind: 'unreachable'; readonly error: unknown }
  /** It wants a login that was not given, or was refused. */
  | { readonly kind: 'unauthorized'; readonly error: Error }
  /** The host has asked for a new one. */
  | { readonly kind: 'reconnect' }
  /** An actor of the connection's failed: a bug. */
  | { readonly kind: 'failure'; readonly error: unknown };

/** Whether another attempt could not end better. */
export function forbidsRetry({ kind }: Loss): boolean {
  return kind === 'spawn-failed' || kind === 'unauthorized' || kind === 'failure';
}

/** What a channel takes. */
export type ChannelEvent =
  /**
   * End everything that belongs to it, then tell `channel.stopped`: then no process of it is left.
   * Repeating it changes nothing.
   */
  | { readonly type: 'channel.close' }
  /**
   * The handshake is done, in this revision. It comes before `notifications/initialized` and before
   * every request of the host's, and once more after each `session.expired`.
   */
  | { readonly type: 'channel.negotiated'; readonly revision: string }
  /**
   * The channel's own reader has come to its end, or its writer cannot write. The connection says so
   * and waits: it is the channel that knows why, and tells `channel.lost`, soon.
   */
  | { readonly type: 'input.ended' }
  | { readonly type: 'output.broken'; readonly error: unknown };

/** What a channel tells its connection. */
export type ChannelReport =
  /** Messages may be sent. */
  | { readonly type: 'channel.opened'; readonly ends: ChannelEnds }
  | { readonly type: 'channel.lost'; readonly loss: Loss }
  /** Nothing of it is left. */
  | { readonly type: 'channel.stopped' }
  /**
   * It wants a login first, and sees to it: a person's time is not counted as the connection's. Until
   * `channel.authorized` no message comes of it.
   */
  | { readonly type: 'channel.challenged' }
  /** There is a login, and what was refused for want of it is sent again. */
  | { readonly type: 'channel.authorized' }
  /**
   * The server does not know our session any more. Told once for each session, after the requests
   * that met it were given back to the correlation. The channel stays open: the connection greets the
   * server anew over it, with a new session.
   */
  | { readonly type: 'session.expired' }
  /**
   * Somebody else may be logged in from now on: what the server has told the one before is not for
   * them.
   */
  | { readonly type: 'login.changed' };

export interface ChannelInput extends InputScope {
  readonly connection: Ref<ChannelReport>;
}
