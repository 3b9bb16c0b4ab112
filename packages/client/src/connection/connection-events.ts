/**
 * The events that a connection takes and emits, and how it reads a loss or a profile from an event.
 */
import type { ErrorActorEvent } from 'xstate';
import type { HandshakeFact, ServerProfile } from './connection-context.ts';
import type { ChannelReport } from '../channel/connection-ports.ts';
import type { Loss } from '../../../../src/protocol/disconnects.ts';
import type { CallsFact, TransportFact } from '../../../../src/machines/peer-ports.ts';

/** What a host sends. */
export type ConnectionCommand =
  /** Open the connection. */
  | { readonly type: 'connection.open' }
  /** Open it anew, without waiting for the backoff, and give up the present channel. */
  | { readonly type: 'connection.reopen' }
  /** Close it. */
  | { readonly type: 'connection.close' };

/** The events that a connection takes. A host may send a {@link ConnectionCommand}. */
export type ConnectionMachineEvent =
  | ConnectionCommand
  | ChannelReport
  | HandshakeFact
  | TransportFact
  /** A request waits for a connection. */
  | { readonly type: 'connection.wanted' }
  /** The host cannot take more of what the server sends, or can again. */
  | { readonly type: 'reading.pause' }
  | { readonly type: 'reading.resume' }
  /** From the router, once it takes no more requests from the server. */
  | CallsFact
  | ErrorActorEvent;

/** What a host hears. */
export type ConnectionEmitted =
  | { readonly type: 'connection.ready'; readonly profile: ServerProfile }
  | { readonly type: 'connection.lost'; readonly loss: Loss }
  /** It is not opened again unless someone asks. */
  | { readonly type: 'connection.failed'; readonly loss: Loss }
  /** Someone else may be logged in: the server's lists are forgotten. */
  | { readonly type: 'login.changed' }
  /**
   * A server behind a pipe ended, or refused `initialize`, after the probe: it is launched once
   * more and greeted without a probe.
   */
  | { readonly type: 'probe.ended' }
  /**
   * A server that was greeted in the legacy way turned out to be modern: the next launch treats it
   * so.
   */
  | { readonly type: 'era.learnt' }
  /** A server that was greeted without a probe is as it was taken to be. */
  | { readonly type: 'era.proven' }
  | { readonly type: 'connection.closed' };

export interface ConnectionOutput {
  /** Why it was lost last; undefined once it is ready again. */
  readonly loss: Loss | undefined;
}
