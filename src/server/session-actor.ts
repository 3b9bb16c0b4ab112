/** A session as actor logic: what `listen` starts, and what a host invokes or spawns in a system of its own. */
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { SessionEmitted, SessionEvent } from '../machines/session.machine.ts';
import { guardingOf } from '../session/guarded-listeners.ts';
import type { ServerCore } from './server-core.ts';
import { ServedSession } from './session.ts';
import type { McpSession, SessionOptions } from './session.ts';
import { plainEdge } from '../session/session-edge.ts';
import { provideMachine, servedMachine } from '../session/session-logic.ts';
import type { SessionImplementations } from '../session/session-logic.ts';
import type { SessionSurroundings } from '../session/session-scope.ts';
import type { SessionActorRef, SessionSnapshot } from '../machines/session-state.ts';
import type { Transport } from '../transports/transport.ts';

/** The input of a session as actor logic. */
export interface SessionLogicInput extends SessionOptions {
  /** Serves this session alone. It is asked for its two actors when the session's actor is made. */
  readonly transport: Transport;
  /** What `listen` gives: only if the session is a system of its own, its time can be held. */
  readonly surroundings?: SessionSurroundings;
}

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

/**
 * The session of an actor that a host has invoked or spawned: its state as an observable, `closed`, `dump()`, `ping()`.
 *
 * @throws {TypeError} the actor is no session
 */
export function sessionOf(actor: AnyActorRef): McpSession {
  const session = guardingOf(actor);
  if (session instanceof ServedSession) return session;
  throw new TypeError(
    `The actor "${actor.id}" is no session: give what was invoked or spawned with a server's sessionLogic`,
  );
}

/** @param machine what its sessions run; made once for all of them */
export function sessionLogic(core: ServerCore, machine = servedMachine): SessionLogic {
  return {
    provide: (implementations) => sessionLogic(core, provideMachine(machine, implementations)),
    getInitialSnapshot: (scope, { transport, surroundings, ...options }) => {
      const actor = scope.self as SessionActorRef;
      const around = surroundings ?? surroundingsOf(actor);
      const session = new ServedSession(core, actor, options, around);
      const server = connect(session, core, transport);
      const { limits } = session;
      return machine.getInitialSnapshot(scope, { scope: session, server, limits });
    },
    start: (snapshot, { self }) => {
      const session = guardingOf(self);
      if (!(session instanceof ServedSession)) {
        throw new Error(
          'A session cannot be restored from a snapshot: its connection is gone. Start a new one',
        );
      }
      session.begin();
      machine.start(snapshot);
    },
    transition: machine.transition,
    getPersistedSnapshot: ({ status, output, error }) =>
      ({ status, output, error }) as Snapshot<unknown>,
    restoreSnapshot: (snapshot) => snapshot as SessionSnapshot,
  };
}

/** Gives a session what its edge makes of the server and of the transport. Gives what `initialize` is answered with. */
function connect(session: ServedSession, core: ServerCore, transport: Transport) {
  const { edge, limits, report } = session;
  const server = edge.begin({
    get server() {
      return core.server;
    },
    get setup() {
      return core.setup(session);
    },
    report,
    get transitions() {
      return session.transitions;
    },
    timeOfDay: () => session.wallTime(),
    notify: (...notification) => session.send(...notification),
  });
  session.handlers = core.handlers(edge);
  // Of the snapshots of other logic nothing is asked but the input that they were given.
  session.ends = edge.transport(transport)({ limits, report }) as typeof session.ends;
  return server;
}

/** In a host's system there is one time, which nobody holds: the system's clock, if it tells the time. XState's default has timers alone, and they keep a process alive. */
function surroundingsOf(actor: object): SessionSurroundings {
  const { clock: given } = actor as { readonly clock?: Partial<Clock> };
  const clock = given && typeof given.now === 'function' ? (given as Clock) : systemClock;
  return { edge: plainEdge, clock, hostClock: clock };
}
