/** A connection as the inspector's page sees it. */
import type { AnyActorRef } from 'xstate';
import type { Traffic } from '../../actors/traffic.ts';
import type { Transitions } from '../../actors/transitions.ts';
import type { ConnectionDump } from '../../diagnosis/connection-dump.ts';

/**
 * Watches a connection. Called once, before it opens; what it throws is thrown to who opens it. Of
 * many servers it is also given those that there is no connection to, whose dumps say why: `idle`,
 * `disabled`, `failed`. A connection that comes later has the id of its server's.
 */
export type ConnectionWatcher = (watched: WatchedConnection) => void;

/** A connection as a {@link ConnectionWatcher} gets it. */
export interface WatchedConnection {
  /** Tells it from a server's session. */
  readonly side: 'host';
  /** Tells it apart from all others; the name of its server is in its dump. */
  readonly id: string;
  /** The connection's actor. What its context holds is not meant to be shown. */
  readonly actor: AnyActorRef;
  /** What the connection waits for now, and since when. */
  dump(): ConnectionDump;
  /** Resolves once nothing of it is left; with an error if that was a bug of ours. */
  readonly closed: Promise<Error | undefined>;
  /** The messages between the host and its server. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /** The transitions of its machines: of the connection itself, its lists, its process, its streams. */
  readonly transitions: Pick<Transitions, 'listen'>;
}
