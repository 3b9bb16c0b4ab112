/** Transports: pairs of actors that read and write a session's frames. */
import type { CallbackActorLogic } from 'xstate';
import type { Port } from '../machines/port.ts';
import type {
  PeerRole,
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from '../machines/peer-ports.ts';
import type { Report } from '../actors/facts.ts';
import type { TransportLimits } from '../actors/limits.ts';
import type { Quotas } from '../actors/memory-budget.ts';
import type { ActorlessClient } from '../machines/session-ports.ts';

/** Names of the facts that transports report. */
export type TransportFactName =
  /** An external transport reported an error, which alone ends nothing. */
  | 'transport.failed'
  /** Other code wrote to stdout. The text was redirected to stderr. */
  | 'output.diverted';

/** A session's reader and writer. A custom transport may pass `fromCallback` logic. */
export interface TransportActors {
  /**
   * Sends inbound frames to the `router` of its input, and notifies the `owner` at the end of
   * input.
   */
  readonly reader: Port<ReaderEvent, ReaderInput> | CallbackActorLogic<ReaderEvent, ReaderInput>;
  /**
   * Writes outbound frames. After `output.flush`, notifies the `owner` of its input once everything
   * is written.
   */
  readonly writer: Port<WriterEvent, WriterInput> | CallbackActorLogic<WriterEvent, WriterInput>;
}

/** The actors of a session at an endpoint with many sessions. */
export interface SharedTransportActors extends TransportActors {
  /** Memory quotas shared with other sessions. Default: quotas of its own. */
  readonly quotas: Quotas;
  /** The client, if already known: it can be served without these actors. */
  readonly client?: ActorlessClient | undefined;
  /** Called once the session has ended, with or without actors. */
  readonly onEnded?: () => void;
}

/** Creates the actors of one session. Called when the session starts. */
export type Transport = (options: {
  readonly limits: TransportLimits;
  readonly report: Report;
  /** The peer's name in messages. */
  readonly peer: PeerRole;
}) => TransportActors;
