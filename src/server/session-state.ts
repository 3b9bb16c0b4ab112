/** The session machine's actor and snapshot, by name, and the state that a snapshot shows. */
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { sessionMachine } from '../machines/session.machine.ts';
import type { SessionState } from './context/session-view.ts';

/** A session's snapshot: `value`, `context`, `children`, `matches()`. */
export type SessionSnapshot = SnapshotFrom<typeof sessionMachine>;

/** A session's actor, as a host that spawns or invokes it has it. */
export type SessionActorRef = ActorRefFrom<typeof sessionMachine>;

/** The state that a session is in, whatever it is in within that. */
export function stateOf({ value }: Pick<SessionSnapshot, 'value'>): SessionState {
  return typeof value === 'string' ? value : (Object.keys(value)[0] as SessionState);
}
