/** The inspector page's view of a connection. */
import type { AnyActorRef } from 'xstate';
import type { Traffic } from '../../../../src/actors/traffic.ts';
import type { Transitions } from '../../../../src/actors/transitions.ts';
import type { ConnectionDump } from '../../../diagnostics/src/connection-dump.ts';

/**
 * Callback for a connection about to open; called once, and an error fails the opening call. With
 * several servers, servers without a connection are passed too, with the reason in their dump:
 * `idle`, `disabled`, `failed`. A connection opened later keeps the server's id.
 */
export type ConnectionWatcher = (watched: WatchedConnection) => void;

/** Watched view of a connection, for a {@link ConnectionWatcher}. */
export interface WatchedConnection {
  /** Discriminator: `'host'` here, `'server'` for a session. */
  readonly side: 'host';
  /** Unique id; the server's name is in the dump. */
  readonly id: string;
  /** The connection's actor. Do not display its context. */
  readonly actor: AnyActorRef;
  /** Snapshot of the state, pending requests and actors. */
  dump(): ConnectionDump;
  /** Resolves after cleanup; to an error if a bug in the runtime ended the connection. */
  readonly closed: Promise<Error | undefined>;
  /** Messages between the host and its server. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /** Transitions of the machines of the connection, its lists, its process and its streams. */
  readonly transitions: Pick<Transitions, 'listen'>;
}
