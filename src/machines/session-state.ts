/** Actor and snapshot types of the session machine, and its top-level state. */
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { sessionMachine } from './session.machine.ts';

/** Snapshot of a session: `value`, `context`, `children`, `matches()`, `hasTag()`. */
export type SessionSnapshot = SnapshotFrom<typeof sessionMachine>;

/** Actor of a session, for hosts that spawn or invoke it. */
export type SessionActorRef = ActorRefFrom<typeof sessionMachine>;

/** Top-level state of a session. A failed session counts as closed. */
export function stateOf({ value, status }: Pick<SessionSnapshot, 'value' | 'status'>) {
  if (status === 'error') return 'closed' as const;
  if (typeof value === 'string') return value;
  return 'draining' in value ? ('draining' as const) : value.open.lifecycle;
}

/** Top-level state of a session. Handlers run from `negotiated` on. */
export type SessionState = ReturnType<typeof stateOf>;
