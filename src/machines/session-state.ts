/** The session machine's actor and snapshot, by name, and the state that a snapshot shows. */
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { sessionMachine } from './session.machine.ts';

/** A session's snapshot: `value`, `context`, `children`, `matches()`, `hasTag()`. */
export type SessionSnapshot = SnapshotFrom<typeof sessionMachine>;

/** A session's actor, as a host that spawns or invokes it has it. */
export type SessionActorRef = ActorRefFrom<typeof sessionMachine>;

/** The state that a session is in, whatever it is in within that. One that failed is closed. */
export function stateOf({ value, status }: Pick<SessionSnapshot, 'value' | 'status'>) {
  if (status === 'error') return 'closed';
  if (typeof value === 'string') return value;
  if ('draining' in value) return 'draining' as const;
  const { open } = value;
  return typeof open === 'string' ? open : open.legacy;
}

/** A state of the session machine. Handlers run in the states from `negotiated` on. */
export type SessionState = ReturnType<typeof stateOf>;
