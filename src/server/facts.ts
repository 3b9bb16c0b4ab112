/** What a session reports: its own facts, and those that its parts declare. */
import type { ActorFactName } from '../actors/facts.ts';
import type { LogFactName } from '../context/session-log.ts';
import type { TaskFactName } from '../features/task-book.ts';
import type { TransportFactName } from '../transports/transport.ts';

/** What a session reports to its host. What looks at a session, such as a recorder, reports to it under names of its own. */
export type FactName =
  | ActorFactName
  | LogFactName
  | TaskFactName
  | TransportFactName
  | 'session.state'
  | 'session.closed'
  | 'roots.updated'
  /** XState's own logger. */
  | 'machine.log';
