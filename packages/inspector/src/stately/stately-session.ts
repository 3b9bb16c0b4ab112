/**
 * One session or connection as the official inspector gets it: its machines as they are now, then
 * every transition, also those of tasks, lists and processes.
 */
import type { AnyActorRef, StateValue } from 'xstate';
import type { WatchedSession } from 'mcp-actors';
import type { WatchedConnection } from 'mcp-actors/client';
import { redact, redactText } from 'mcp-actors/internal';
import { watchTransitions } from '../gate.ts';
import type { StatelyPackage } from './stately-package.ts';

type Inspector = ReturnType<StatelyPackage['createInspector']>;
type Inspected = Parameters<Inspector['actor']>[0];

/** How many values of a machine's context are sent. */
const maxContextValues = 500;

type Watched = WatchedSession | WatchedConnection;

/**
 * Sends the machines of a session or a connection until it is stopped.
 *
 * @param send takes each message, a JSON text
 * @returns what stops it
 */
export function tellStately(
  createInspector: StatelyPackage['createInspector'],
  session: Watched,
  send: (text: string) => void,
): () => void {
  const root: AnyActorRef = session.actor;
  // The package calls every root "anonymous"; the receiver groups by it.
  const rootId = idIn(session, root);
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
    // The session's own actor makes its machine for each session: only the snapshot knows which.
    const { machine: logic } = actor.getSnapshot() as { readonly machine?: object };
    // What the package reads of an actor, with an id that is unique among all processes that send
    // to one receiver.
    const parent = actor === root ? undefined : { sessionId: rootId };
    return { sessionId: idIn(session, actor), logic, _parent: parent } as never;
  };
  for (const actor of [root, ...childrenOf(root)]) announce(actor, actor.getSnapshot());
  return watchTransitions(session.transitions, ({ actor, before, after, event }) => {
    // The machine of a task, of a list or of a process is an actor system of its own.
    if (!announced.has(actor)) announce(actor, before);
    const [target, cause] = [inspected(actor), event()];
    inspector.event(target, cause);
    inspector.snapshot(target, shown(session, after) ?? {}, { event: cause });
  });
}

/** XState's own ids start again in each process. */
function idIn(session: Watched, { sessionId }: AnyActorRef): string {
  return `${session.id}/${sessionId}`;
}

function childrenOf(root: AnyActorRef): readonly AnyActorRef[] {
  const { children = {} } = root.getSnapshot() as {
    readonly children?: { readonly [id: string]: AnyActorRef | undefined };
  };
  return Object.values(children).filter((child) => child !== undefined);
}

/** A machine of a connection goes by its server's name, too: a host has many connections. */
function nameOf(event: object, session: Watched): { readonly name?: string } {
  if (session.side === 'server' || !('name' in event)) return {};
  return { name: `${String(event.name)} of ${redactText(session.dump().name)}` };
}

/**
 * A machine's snapshot, redacted and bounded; undefined for other actors. The machines of a connection
 * know commands, variables, headers and tokens, of which no form tells all: their context stays here.
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
