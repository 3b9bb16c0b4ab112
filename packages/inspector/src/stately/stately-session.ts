/**
 * Sends one session or connection to the official inspector: its machines' current states, then
 * every transition, including those of tasks, lists and processes.
 */
import type { AnyActorRef, StateValue } from 'xstate';
import type { WatchedSession } from 'mcp-actors';
import type { WatchedConnection } from 'mcp-actors/client';
import { redact, redactText } from 'mcp-actors/internal';
import { watchTransitions } from '../state-changes.ts';
import type { StatelyPackage } from './stately-package.ts';

type Inspector = ReturnType<StatelyPackage['createInspector']>;
type Inspected = Parameters<Inspector['actor']>[0];

/** Values sent of a machine's context. */
const maxContextValues = 500;

type Watched = WatchedSession | WatchedConnection;

/**
 * Sends the machines of a session or connection until stopped.
 *
 * @param send receives each message as JSON text
 * @returns unsubscribe function
 */
export function sendToStately(
  createInspector: StatelyPackage['createInspector'],
  session: Watched,
  send: (text: string) => void,
): () => void {
  const root: AnyActorRef = session.actor;
  // The package names every root "anonymous", and the receiver groups by that name.
  const rootId = actorId(session, root);
  const inspector = createInspector({
    send: (event) => send(JSON.stringify({ ...event, ...nameOf(event, session), rootId })),
  });
  const announced = new WeakSet<AnyActorRef>();
  const announce = (actor: AnyActorRef, snapshot: unknown) => {
    announced.add(actor);
    const present = shown(session, snapshot);
    if (present) inspector.actor(inspected(actor), present);
  };
  const inspected = (actor: AnyActorRef): Inspected => {
    // A session's root actor creates its machine per session, so only the snapshot has it.
    const { machine: logic } = actor.getSnapshot() as { readonly machine?: object };
    // Shape the package reads of an actor, with an id unique across all processes that send to one
    // receiver.
    const parent = actor === root ? undefined : { sessionId: rootId };
    return { sessionId: actorId(session, actor), logic, _parent: parent } as never;
  };
  for (const actor of [root, ...childrenOf(root)]) announce(actor, actor.getSnapshot());
  return watchTransitions(session.transitions, ({ actor, before, after, event }) => {
    // Machines of tasks, lists and processes are actor systems of their own, announced on their
    // first transition.
    if (!announced.has(actor)) announce(actor, before);
    const [target, cause] = [inspected(actor), event()];
    inspector.event(target, cause);
    inspector.snapshot(target, shown(session, after) ?? {}, { event: cause });
  });
}

/** XState's session ids are unique only within a process. */
function actorId(session: Watched, { sessionId }: AnyActorRef): string {
  return `${session.id}/${sessionId}`;
}

function childrenOf(root: AnyActorRef): readonly AnyActorRef[] {
  const { children = {} } = root.getSnapshot() as {
    readonly children?: { readonly [id: string]: AnyActorRef | undefined };
  };
  return Object.values(children).filter((child) => child !== undefined);
}

/** A host has many connections: add the server's name to their machines. */
function nameOf(event: object, session: Watched): { readonly name?: string } {
  if (session.side === 'server' || !('name' in event)) return {};
  return { name: `${String(event.name)} of ${redactText(session.dump().name)}` };
}

/**
 * A machine's snapshot, redacted and bounded; undefined for other actors. Machines of a connection
 * hold commands, variables, headers and tokens that no redaction pattern covers completely, so
 * their context is never sent.
 */
function shown({ side }: Watched, snapshot: unknown) {
  const { machine, status, value, context } = snapshot as {
    readonly machine?: object;
    readonly status: 'active' | 'done' | 'error' | 'stopped';
    readonly value: StateValue;
    readonly context: unknown;
  };
  if (!machine) return undefined;
  return { status, value, context: side === 'host' ? {} : redact(context, maxContextValues) };
}
