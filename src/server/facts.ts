/** What a session reports, beside what its actors do. */
import type { ActorFactName } from '../actors/facts.ts';

/** What a session reports to its host. What looks at a session, such as a recorder, reports to it under names of its own. */
export type FactName =
  | ActorFactName
  | 'session.state'
  | 'session.closed'
  | 'roots.updated'
  | 'task.created'
  /** A task's work is over: completed, failed or cancelled. */
  | 'task.ended'
  /** A task's time to live is over. */
  | 'task.expired'
  /** Log messages for the client that were not sent: too many, or not expressible, or not declared. */
  | 'log.unsent'
  /** A transport of somebody else's reported an error. It ends nothing by itself. */
  | 'transport.failed'
  /** Something other than the session wrote to stdout; it went to stderr. */
  | 'output.diverted'
  /** XState's own logger. */
  | 'machine.log';
