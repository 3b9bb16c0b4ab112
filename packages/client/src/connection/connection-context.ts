/** Context of a connection: its limits, actors, server and loss counts. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import type { ChannelEvent } from '../channel/connection-ports.ts';
import type { ConnectionLoss, InvalidInput } from '../../../../src/protocol/disconnects.ts';
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
 * `legacy`: starts with `initialize` (up to 2025-11-25). `modern`: has no handshake (since
 * 2026-07-28).
 */
export type Era = 'legacy' | 'modern';

/** Self-description of a server. */
export interface ServerProfile {
  /** `legacy` servers have sessions, `modern` ones handle each request by itself. */
  readonly era: Era;
  /** Negotiated protocol revision. */
  readonly revision: string;
  /** Name, version and any further members. */
  readonly info: Implementation & JsonObject;
  /** Declared capabilities. */
  readonly capabilities: JsonObject;
  /** Usage hints for the model. */
  readonly instructions?: string;
  /** Further members of the `initialize` result, including `_meta`. */
  readonly others?: JsonObject;
}

/** Prior knowledge of a server's era. */
export type EraKnowledge =
  | { readonly kind: 'unknown' }
  /**
   * `memory`: found by an earlier or another connection. `end`: the server ended when probed, as
   * some legacy servers do, or rejected `initialize` after the probe; it may also be broken.
   */
  | { readonly kind: 'legacy'; readonly by: 'host' | 'server' | 'memory' | 'end' }
  /** `profile`: the response to the probe; without it the server is probed again. */
  | { readonly kind: 'modern'; readonly profile?: ServerProfile };

/** Timeouts of a connection, ms. Defaults: `client/connection/limits.ts`. */
export interface ConnectionTimes {
  /** From launch until ready, excluding logins. */
  readonly connectTimeoutMs: number;
  /** Time for a server behind a pipe to answer the era probe. */
  readonly probeMs: number;
  /** Time for a whole login, including the person's part. */
  readonly loginTimeoutMs: number;
}

export interface ConnectionInput extends InputScope {
  readonly times: ConnectionTimes;
  readonly restart: RestartPolicy;
  /** Random source of the jitter, from 0 to less than 1. */
  readonly random: () => number;
  readonly era: EraKnowledge;
  /** The only era that the host accepts. */
  readonly wanted?: Era | undefined;
  /**
   * Era detection. `pipe`: by the response; a server that stays silent or ends when probed is
   * initialized in the legacy way. `answer`: the transport answers each request, so silence and an
   * end reveal nothing.
   */
  readonly shows: 'pipe' | 'answer';
  /**
   * `once`: the actor ends when the connection is closed. `again`: the connection may be reopened.
   */
  readonly opens: 'once' | 'again';
  /** The last stderr lines of the server's process, for error messages. */
  readonly lastWords?: () => string | undefined;
  /** Invalid frames received so far, for the timeout error. */
  readonly unreadInput?: () => InvalidInput | undefined;
}

/** Events of the handshake actor. */
export type HandshakeEvent =
  /** Sends `server/discover`. */
  | { readonly type: 'handshake.probe' }
  /**
   * Sends `initialize`. `behind: 'probe'`: a probe is still unanswered. A server that started
   * slowly finds both in its input, and must not take the client for a legacy one because of
   * `initialize`.
   */
  | { readonly type: 'handshake.greet'; readonly behind: 'probe' | 'nothing' };

/** Results of the handshake, one per command. */
export type HandshakeFact =
  | { readonly type: 'era.found'; readonly era: 'legacy' }
  | { readonly type: 'era.found'; readonly era: 'modern'; readonly profile: ServerProfile }
  /** The server is modern, but shares no revision with the host or rejects it. */
  | { readonly type: 'era.refused'; readonly error: Error }
  | { readonly type: 'greeting.accepted'; readonly profile: ServerProfile }
  | { readonly type: 'greeting.refused'; readonly error: Error };

export interface HandshakeInput extends InputScope {
  readonly connection: Ref<HandshakeFact>;
  readonly correlation: Ref<CorrelationEvent>;
}

/** Actors that carry one channel's messages, from `channel.opened` on. */
export interface Messaging {
  readonly reader: Ref<ReaderEvent>;
  readonly router: Ref<RouterEvent>;
  readonly writer: Ref<WriterEvent>;
  /** Initializes the server, and again for each new session over the channel. */
  readonly handshake: Ref<HandshakeEvent>;
}

/**
 * Second launch of a server that ended, or rejected `initialize`, after a probe. It counts as an
 * attempt only if that process ends too, because then the probe was not the cause. Only one such
 * launch happens until the host reopens the connection.
 */
export type ExtraLaunch = 'unspent' | 'underway' | 'spent';

export interface ConnectionContext extends ConnectionInput {
  readonly correlation: Ref<CorrelationEvent>;
  /** The running channel; undefined before launch and after cleanup. */
  readonly channel: Ref<ChannelEvent> | undefined;
  readonly messaging: Messaging | undefined;
  /** Server of the last handshake. */
  readonly profile: ServerProfile | undefined;
  /** Reason for having no connection, or for the previous disconnect. */
  readonly loss: ConnectionLoss | undefined;
  /** Retries since the connection was last stable. */
  readonly attempts: number;
  readonly extraLaunch: ExtraLaunch;
  /** Number of channels opened. */
  readonly launches: number;
  /** Current backoff delay, ms. */
  readonly delayMs: number;
  /** `blocked` while the server does not read its input. */
  readonly output: 'blocked' | 'flowing';
  /** `paused` while the host cannot accept more messages from the server. */
  readonly reading: 'open' | 'paused';
}
