/** Events that a connection receives and emits. */
import type { ErrorActorEvent } from 'xstate';
import type { HandshakeFact, ServerProfile } from './connection-context.ts';
import type { ChannelReport } from '../channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import type { CallsFact, TransportFact } from '../../../../src/machines/peer-ports.ts';

/** Commands from the host. */
export type ConnectionCommand =
  | { readonly type: 'connection.open' }
  /** Reopens the connection at once, skipping the backoff and abandoning the current channel. */
  | { readonly type: 'connection.reopen' }
  | { readonly type: 'connection.close' };

/** Events of a connection. A host may send a {@link ConnectionCommand}. */
export type ConnectionMachineEvent =
  | ConnectionCommand
  | ChannelReport
  | HandshakeFact
  | TransportFact
  /** A request is waiting for a connection. */
  | { readonly type: 'connection.wanted' }
  /** The host cannot accept more messages from the server, or can again. */
  | { readonly type: 'reading.pause' }
  | { readonly type: 'reading.resume' }
  /** From the router, once it accepts no more requests from the server. */
  | CallsFact
  | ErrorActorEvent;

/** Events emitted to the host. */
export type ConnectionEmitted =
  | { readonly type: 'connection.ready'; readonly profile: ServerProfile }
  | { readonly type: 'connection.lost'; readonly loss: ConnectionLoss }
  /** Retries are exhausted; only `connection.reopen` reopens it. */
  | { readonly type: 'connection.failed'; readonly loss: ConnectionLoss }
  /** A different person may be logged in: cached lists are invalid. */
  | { readonly type: 'login.changed' }
  /**
   * A server behind a pipe ended, or rejected `initialize`, after the probe: it is launched again
   * and initialized without a probe.
   */
  | { readonly type: 'probe.ended' }
  /** A server initialized in the legacy way turned out to be modern; the next launch uses that. */
  | { readonly type: 'era.learnt' }
  /** A server initialized without a probe confirmed the assumed era. */
  | { readonly type: 'era.proven' }
  | { readonly type: 'connection.closed' };

export interface ConnectionOutput {
  /** The last disconnect; undefined once the connection is ready again. */
  readonly loss: ConnectionLoss | undefined;
}
