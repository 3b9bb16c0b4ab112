/** The session machine's actor and snapshot, by name, and the state that a snapshot shows. */
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { sessionMachine } from './session.machine.ts';

/** A session's snapshot: `value`, `context`, `children`, `matches()`, `hasTag()`. */
export type SessionSnapshot = SnapshotFrom<typeof sessionMachine>;

/** A session's actor, for a host that spawns or invokes it. */
export type SessionActorRef = ActorRefFrom<typeof sessionMachine>;

/** The top-level state that a session is in. A session that failed counts as closed. */
export function stateOf({ value, status }: Pick<SessionSnapshot, 'value' | 'status'>) {
  if (status === 'error') return 'closed' as const;
  if (typeof value === 'string') return value;
  return 'draining' in value ? ('draining' as const) : value.open.lifecycle;
}

/** A state of the session machine. Handlers run in the states from `negotiated` on. */
export type SessionState = ReturnType<typeof stateOf>;
