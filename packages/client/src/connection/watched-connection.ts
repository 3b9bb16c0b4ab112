/** A connection as the inspector's page sees it. */
import type { AnyActorRef } from 'xstate';
import type { Traffic } from '../../../../src/actors/traffic.ts';
import type { Transitions } from '../../../../src/actors/transitions.ts';
import type { ConnectionDump } from '../../../diagnostics/src/connection-dump.ts';

/**
 * Watches a connection. Called once, before it opens; if it throws, so does the call that opens it.
 * With several servers it also gets those without a connection, whose dumps say why: `idle`,
 * `disabled`, `failed`. If such a server connects later, its connection keeps the id.
 */
export type ConnectionWatcher = (watched: WatchedConnection) => void;

/** A connection as a {@link ConnectionWatcher} gets it. */
export interface WatchedConnection {
  /** Distinguishes it from a server's session. */
  readonly side: 'host';
  /** Unique; the name of the server is in the dump. */
  readonly id: string;
  /** The connection's actor. Do not show its context. */
  readonly actor: AnyActorRef;
  /** What the connection waits for, and since when. */
  dump(): ConnectionDump;
  /**
   * Resolves once nothing of it is left; to an error if it ended because of a bug in the runtime.
   */
  readonly closed: Promise<Error | undefined>;
  /** The messages between the host and its server. */
  readonly traffic: Pick<Traffic, 'listen'>;
  /**
   * The transitions of its machines: those of the connection, its lists, its process and its
   * streams.
   */
  readonly transitions: Pick<Transitions, 'listen'>;
}
