/** The context of a connection: its bounds, its actors, its server, and how often it was lost. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import type { ChannelEvent } from '../channel/connection-ports.ts';
import type { Loss, UnreadInput } from '../../../../src/protocol/disconnects.ts';
import type {
  CorrelationEvent,
  InputScope,
  ReaderEvent,
  RouterEvent,
  WriterEvent,
} from '../../../../src/machines/peer-ports.ts';
import type { Ref } from '../../../../src/machines/port.ts';
import type { RestartPolicy } from '../channel/restart-policy.ts';

/**
 * `legacy`: begins with `initialize` (up to 2025-11-25). `modern`: has no handshake (since
 * 2026-07-28).
 */
export type Era = 'legacy' | 'modern';

/** What a server says about itself. */
export interface ServerProfile {
  /** Whether the server has sessions (`legacy`) or takes each request by itself (`modern`). */
  readonly era: Era;
  /** The revision of the protocol that is spoken. */
  readonly revision: string;
  /** Its name, its version and any further members. */
  readonly info: Implementation & JsonObject;
  /** The capabilities that it has declared. */
  readonly capabilities: JsonObject;
  /** For the model: how the server wants to be used. */
  readonly instructions?: string;
  /** Further members of the `initialize` result, `_meta` among them. */
  readonly others?: JsonObject;
}

/** What is known of a server's era before it is asked. */
export type EraKnowledge =
  | { readonly kind: 'unknown' }
  /**
   * `memory`: an earlier connection, or another one, has found it out. `end`: it ended when it was
   * probed, as some legacy servers do, or refused `initialize` after the probe; it may also be
   * broken.
   */
  | { readonly kind: 'legacy'; readonly by: 'host' | 'server' | 'memory' | 'end' }
  /** `profile`: its answer to the probe; without one it is probed again. */
  | { readonly kind: 'modern'; readonly profile?: ServerProfile };

/** The times of a connection, milliseconds. The defaults are in `client/connection/limits.ts`. */
export interface ConnectionTimes {
  /** From the launch until the connection is ready, without the time for a login. */
  readonly connectTimeoutMs: number;
  /** How long a server behind a pipe may take to answer the probe for its era. */
  readonly probeMs: number;
  /** How long a login may take in all, including the person's visit. */
  readonly loginTimeoutMs: number;
}

export interface ConnectionInput extends InputScope {
  readonly times: ConnectionTimes;
  readonly restart: RestartPolicy;
  /** From 0 to less than 1, for the jitter. */
  readonly random: () => number;
  readonly era: EraKnowledge;
  /** The only era that the host accepts. */
  readonly wanted?: Era | undefined;
  /**
   * How a server shows its era. `pipe`: by what it says; if it stays silent or ends when it is
   * probed, it is greeted in the legacy way. `answer`: the transport answers each request, so
   * silence and an end say nothing about the era.
   */
  readonly shows: 'pipe' | 'answer';
  /**
   * `once`: the actor ends when the connection is closed. `again`: the connection may be reopened.
   */
  readonly opens: 'once' | 'again';
  /** The last lines that the server's process wrote to stderr, for error messages. */
  readonly lastWords?: () => string | undefined;
  /** The invalid frames that the server has sent, for the error of a timeout. */
  readonly unreadInput?: () => UnreadInput | undefined;
}

/** What the handshake takes. */
export type HandshakeEvent =
  /** Ask `server/discover`. */
  | { readonly type: 'handshake.probe' }
  /**
   * Send `initialize`. `behind: 'probe'`: a probe is still unanswered. A server that started slowly
   * finds both in its input, and must not conclude from the second that the client is not modern.
   */
  | { readonly type: 'handshake.greet'; readonly behind: 'probe' | 'nothing' };

/** What the handshake reports, once for each thing that it was told to do. */
export type HandshakeFact =
  | { readonly type: 'era.found'; readonly era: 'legacy' }
  | { readonly type: 'era.found'; readonly era: 'modern'; readonly profile: ServerProfile }
  /** The server is modern, but no revision is shared with it or it refuses us. */
  | { readonly type: 'era.refused'; readonly error: Error }
  | { readonly type: 'greeting.accepted'; readonly profile: ServerProfile }
  | { readonly type: 'greeting.refused'; readonly error: Error };

export interface HandshakeInput extends InputScope {
  readonly connection: Ref<HandshakeFact>;
  readonly correlation: Ref<CorrelationEvent>;
}

/** The actors that carry one channel's messages. They exist from `channel.opened` on. */
export interface Messaging {
  readonly reader: Ref<ReaderEvent>;
  readonly router: Ref<RouterEvent>;
  readonly writer: Ref<WriterEvent>;
  /** Initializes the server, and again for each new session over the channel. */
  readonly handshake: Ref<HandshakeEvent>;
}

/**
 * The second launch of a server that ended, or refused `initialize`, after a probe. It counts as an
 * attempt only if that process ends too, because then the probe was not the cause. There is one
 * such launch until the host opens the connection anew.
 */
export type ExtraLaunch = 'unspent' | 'underway' | 'spent';

export interface ConnectionContext extends ConnectionInput {
  readonly correlation: Ref<CorrelationEvent>;
  /** From its launch until nothing of it is left. */
  readonly channel: Ref<ChannelEvent> | undefined;
  readonly messaging: Messaging | undefined;
  /** The server of the last handshake. */
  readonly profile: ServerProfile | undefined;
  /** Why there is no connection, or why the last one ended. */
  readonly loss: Loss | undefined;
  /** New attempts since the connection was last stable. */
  readonly attempts: number;
  readonly extraLaunch: ExtraLaunch;
  /** How many channels were opened. */
  readonly launches: number;
  /** The length of the backoff, milliseconds. */
  readonly delayMs: number;
  /** Whether the server reads its input. */
  readonly output: 'blocked' | 'flowing';
  /** Paused while the host cannot take more of what the server sends. */
  readonly reading: 'open' | 'paused';
}
