/** A session as actor logic: what `listen` starts, and what a host invokes or spawns in a system of its own. */
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import type { SessionEmitted, SessionEvent, sessionMachine } from '../machines/session.machine.ts';
import type { ServerDefinition } from './definition.ts';
import type { Offer } from './offer.ts';
import { makeSession } from './session.ts';
import type { MadeSession, McpSession, Outside, SessionOptions } from './session.ts';
import type { SessionActorRef, SessionSnapshot } from './session-state.ts';
import { isMachine } from './transitions.ts';
import type { Transport } from './transport.ts';

/** The input of a session as actor logic. */
export interface SessionLogicInput extends SessionOptions {
  /** Serves this session alone. It is asked for its two actors when the session's actor is made. */
  readonly transport: Transport;
  /** What `listen` gives: only where the session is a system of its own, its time can be held. */
  readonly outside?: Outside;
}

/** What stands at the session machine's places: its actors, guards, actions and delays. */
export type SessionImplementations = Parameters<typeof sessionMachine.provide>[0];

/**
 * A server's sessions as XState actor logic: each actor that a host invokes or spawns with it is a session of its own. The snapshot is the session
 * machine's; the output says why the session has ended; {@link SessionEmitted} is what it emits. No actor of it has a `systemId`, so any
 * number live in one system. The session's time is the system's clock, where that has `now()`.
 *
 * `stop` releases everything at once: the client's calls are aborted, nothing more is sent. Send `session.shutdown` to let it drain.
 * A session cannot be restored from a persisted snapshot, because its connection cannot: it fails when it is started.
 */
export interface SessionLogic extends ActorLogic<
  SessionSnapshot,
  SessionEvent,
  SessionLogicInput,
  AnyActorRef['system'],
  SessionEmitted
> {
  /** The same with other implementations in the session machine, such as a host's own source of roots. */
  provide(implementations: SessionImplementations): SessionLogic;
}

export interface SessionSource {
  readonly definition: ServerDefinition;
  /** What the server offers now. */
  offer(): Offer;
  /** Called when a session begins; gives what is called when it has ended. */
  opened(session: McpSession): () => void;
}

const madeSessions = new WeakMap<object, MadeSession>();

/**
 * The session of an actor that a host has invoked or spawned: its state as an observable, `closed`, `dump()`, `ping()`.
 *
 * @throws {TypeError} the actor is no session
 */
export function sessionOf(actor: AnyActorRef): McpSession {
  const made = madeSessions.get(actor);
  if (made) return made.session;
  throw new TypeError(
    `The actor "${actor.id}" is no session: give what was invoked or spawned with a server's sessionLogic`,
  );
}

export function sessionLogic(
  source: SessionSource,
  provided: readonly SessionImplementations[] = [],
): SessionLogic {
  return {
    provide: (implementations) => sessionLogic(source, [...provided, implementations]),
    getInitialSnapshot: (scope, { transport, ...options }) => {
      const actor = scope.self as SessionActorRef;
      const { definition, offer, opened } = source;
      const made = makeSession(definition, offer(), transport, options, actor, opened);
      madeSessions.set(actor, made);
      return heardMachine(made, provided).getInitialSnapshot(scope, made.input);
    },
    start: (snapshot, { self }) => {
      const made = madeSessions.get(self);
      if (!made) {
        throw new Error(
          'A session cannot be restored from a snapshot: its connection is gone. Start a new one',
        );
      }
      made.begin();
      machineOf(snapshot).start(snapshot);
    },
    transition: (snapshot, event, scope) => machineOf(snapshot).transition(snapshot, event, scope),
    getPersistedSnapshot: ({ status, output, error }) =>
      ({ status, output, error }) as Snapshot<unknown>,
    restoreSnapshot: (snapshot) => snapshot as SessionSnapshot,
  };
}

/** One session's machine with the host's implementations in it. */
function heardMachine(
  { logic, transitions }: MadeSession,
  provided: readonly SessionImplementations[],
): typeof sessionMachine {
  const machine = provided.reduce(
    (given, more) => given.provide(heardImplementations(more, transitions)),
    logic,
  );
  return transitions.hear('session', machine);
}

/** The same, where the host's own machines stand in the places of others copies of them: they may be in many sessions. */
function heardImplementations(
  { actors, ...others }: SessionImplementations,
  transitions: MadeSession['transitions'],
): SessionImplementations {
  if (!actors) return others;
  const { roots, keepalive } = actors;
  return {
    ...others,
    actors: {
      ...actors,
      ...(isMachine(roots) ? { roots: transitions.heardCopy('roots', roots) } : {}),
      ...(isMachine(keepalive) ? { keepalive: transitions.heardCopy('keepalive', keepalive) } : {}),
    },
  };
}

/** The machine that one session's snapshot belongs to: each session has its own. */
function machineOf(snapshot: SessionSnapshot): typeof sessionMachine {
  return snapshot.machine as unknown as typeof sessionMachine;
}
