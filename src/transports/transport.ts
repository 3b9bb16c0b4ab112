/** A transport: two actors, through which a session's frames come in and go out. */
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

/** The names of the facts that transports report. */
export type TransportFactName =
  /** A foreign transport reported an error. By itself that ends nothing. */
  | 'transport.failed'
  /** Something other than the session wrote to stdout. The text went to stderr. */
  | 'output.diverted';

/** A session's reader and writer. A host may give its own, as `fromCallback` logic. */
export interface TransportActors {
  /**
   * Sends frames that come in to its input's `router`, and tells its `owner` when the input has
   * ended.
   */
  readonly reader: Port<ReaderEvent, ReaderInput> | CallbackActorLogic<ReaderEvent, ReaderInput>;
  /**
   * Takes frames that go out. Asked to flush, it tells its input's `owner` when it has flushed.
   */
  readonly writer: Port<WriterEvent, WriterInput> | CallbackActorLogic<WriterEvent, WriterInput>;
}

/** The actors of a session at an endpoint that has many. */
export interface SharedTransportActors extends TransportActors {
  /** The session shares its bounds in bytes with others. By default it has them to itself. */
  readonly quotas: Quotas;
  /** Its client, if that is known already: it can be served without these actors. */
  readonly client?: ActorlessClient | undefined;
  /** Told once the session has ended, whether it had actors or not. */
  readonly onEnded?: () => void;
}

/** Makes the two actors of one session. Called as the session begins. */
export type Transport = (options: {
  readonly limits: TransportLimits;
  readonly report: Report;
  /** Who is at the other end, as messages call it. */
  readonly peer: PeerRole;
}) => TransportActors;
