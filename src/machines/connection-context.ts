/** What a connection knows: its bounds, its actors, its server, and how often it was lost. */
import { negotiateDialect } from '../protocol/dialects/registry.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Implementation } from '../protocol/implementation.ts';
import type { PeerDescription } from '../protocol/initialize.ts';
import type { ChannelEnds, ChannelEvent, Loss } from './connection-ports.ts';
import type {
  CorrelationEvent,
  InputScope,
  ReaderEvent,
  RouterEvent,
  WriterEvent,
} from './peer-ports.ts';
import type { Ref } from './port.ts';
import type { RestartPolicy } from './restart-policy.ts';

/** `legacy`: begins with `initialize`, until 2025-11-25. `modern`: without a handshake, since 2026-07-28. */
export type Era = 'legacy' | 'modern';

/** What a server says of itself, once it is known. */
export interface ServerProfile {
  /** Whether the server has sessions (`legacy`) or takes each request by itself (`modern`). */
  readonly era: Era;
  /** The revision of the protocol that is spoken. */
  readonly revision: string;
  /** Its name, its version and what else it says of itself. */
  readonly info: Implementation & JsonObject;
  /** What it has declared that it can do. */
  readonly capabilities: JsonObject;
  /** For the model: how the server wants to be used. */
  readonly instructions?: string;
}

/** What is known of a server's era before it is asked. */
export type EraKnowledge =
  | { readonly kind: 'unknown' }
  /**
   * `memory`: another connection has found it so, or an earlier one. `end`: it has ended when it was
   * asked, as some legacy servers do, or has refused `initialize` after that; it may as well be broken.
   */
  | { readonly kind: 'legacy'; readonly by: 'host' | 'server' | 'memory' | 'end' }
  /** `profile`: what it said when it was asked; without one it is asked again. */
  | { readonly kind: 'modern'; readonly profile?: ServerProfile };

/** Times of a connection's own, milliseconds. The defaults are in `client/connection/limits.ts`. */
export interface ConnectionTimes {
  /** From the launch until the connection is ready, a login not counted. */
  readonly connectTimeoutMs: number;
  /** How long a server behind a pipe may take to say its era. */
  readonly probeMs: number;
  /** How long a login may take in all, with the visit of the person. */
  readonly loginTimeoutMs: number;
}

export interface ConnectionInput extends InputScope {
  readonly times: ConnectionTimes;
  readonly restart: RestartPolicy;
  /** From 0 to less than 1, for the jitter. */
  readonly random: () => number;
  readonly era: EraKnowledge;
  /** The era that the host wants, and no other. */
  readonly wanted?: Era | undefined;
  /**
   * How a server shows its era. `pipe`: by what it says; if it says nothing, or ends upon the probe,
   * it is greeted in the legacy way. `answer`: the transport has an answer to each request, so that
   * silence and ends say nothing.
   */
  readonly shows: 'pipe' | 'answer';
  /** `once`: closed is the end of the actor. `again`: it may be opened again. */
  readonly opens: 'once' | 'again';
  /** The last lines that the server's process has written to its standard error, for the errors. */
  readonly lastWords?: () => string | undefined;
}

/** What the handshake takes. */
export type HandshakeEvent =
  /** Ask `server/discover`. */
  | { readonly type: 'handshake.probe' }
  /**
   * Send `initialize`. `behind`: a probe that is not answered yet; a server that has started slowly
   * finds both in its input, and must not take the second for the end of the modern era.
   */
  | { readonly type: 'handshake.greet'; readonly behind: 'probe' | 'nothing' };

/** What the handshake tells. Each once for what was asked. */
export type HandshakeFact =
  | { readonly type: 'era.found'; readonly era: 'legacy' }
  | { readonly type: 'era.found'; readonly era: 'modern'; readonly profile: ServerProfile }
  /** The server is modern, and cannot be talked to. */
  | { readonly type: 'era.refused'; readonly error: Error }
  | { readonly type: 'greeting.accepted'; readonly profile: ServerProfile }
  | { readonly type: 'greeting.refused'; readonly error: Error };

export interface HandshakeInput extends InputScope {
  readonly connection: Ref<HandshakeFact>;
  readonly correlation: Ref<CorrelationEvent>;
}

/** The actors that carry one channel's messages. There are some from `channel.opened` on. */
export interface Messaging {
  readonly reader: Ref<ReaderEvent>;
  readonly router: Ref<RouterEvent>;
  readonly writer: Ref<WriterEvent>;
  readonly handshake: Ref<HandshakeEvent>;
}

/** What has come of `server/discover` on the present channel. */
export type Probe = 'unasked' | 'pending' | 'answered';

/**
 * The launch of a server that has ended upon the probe, or has refused `initialize` after it. It is no
 * attempt unless that ends too:
 * then it was no fault of the probe's. There is one, until the host begins anew.
 */
export type ExtraLaunch = 'unspent' | 'underway' | 'spent';

export interface ConnectionContext extends ConnectionInput {
  readonly correlation: Ref<CorrelationEvent>;
  /** From its launch until nothing of it is left. */
  readonly channel: Ref<ChannelEvent> | undefined;
  readonly messaging: Messaging | undefined;
  readonly probe: Probe;
  /** The server of the last handshake. */
  readonly profile: ServerProfile | undefined;
  /** Why there is no connection, or why the last one ended. */
  readonly loss: Loss | undefined;
  /** New attempts since the connection was last stable. */
  readonly attempts: number;
  readonly extraLaunch: ExtraLaunch;
  /** Channels that were opened. */
  readonly launches: number;
  /** How long the backoff takes, milliseconds. */
  readonly delayMs: number;
  /** Whether the server reads what it is sent. */
  readonly output: 'blocked' | 'flowing';
}

/** The reader's and the writer's logic comes with each channel. */
export interface OfChannel {
  readonly ends: ChannelEnds;
}

/** A legacy server, as a router knows its peer. */
export function peerOf({ revision, info, capabilities }: ServerProfile): PeerDescription {
  const dialect = negotiateDialect(revision);
  return { dialect, requestedVersion: revision, info, capabilities };
}
