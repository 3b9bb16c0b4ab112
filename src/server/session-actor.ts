/**
 * A session as actor logic: `listen` starts it, or a host invokes or spawns it in its own system.
 */
import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import { systemClock } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { SessionEmitted, SessionEvent } from '../machines/session.machine.ts';
import type { SessionActorRef, SessionSnapshot } from '../machines/session-state.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { ServerCore } from './server-core.ts';
import { ServedSession, sessionOfActor } from './session.ts';
import type { McpSession, SessionOptions } from './session.ts';
import { liveEnvironment } from './session/session-environment.ts';
import { servedMachine } from './session/session-logic.ts';
import type { SessionImplementations } from './session/session-logic.ts';
import type { SessionHost } from './session/session-scope.ts';
import type { Transport } from '../transports/transport.ts';

/** The input of a session as actor logic. */
export interface SessionLogicInput extends SessionOptions {
  /** Serves only this session. It makes its two actors as the session begins. */
  readonly transport: Transport;
  /** Given by `listen`, which has connected it. */
  readonly session?: ServedSession;
}

/**
 * A server's sessions as XState actor logic. Each actor that a host invokes or spawns with it is a
 * session. The snapshot is the session machine's, the output says why the session has ended, and it
 * emits {@link SessionEmitted}. None of its actors has a `systemId`, so one system can hold any
 * number of sessions. A session's time is the system's clock, if that has `now()`.
 *
 * `stop` releases everything at once: it aborts the client's calls and sends nothing more. To let a
 * session drain, send `session.shutdown`. A session cannot be restored from a persisted snapshot,
 * because its connection cannot: it fails when it is started.
 */
export interface SessionLogic extends ActorLogic<
  SessionSnapshot,
  SessionEvent,
  SessionLogicInput,
  AnyActorRef['system'],
  SessionEmitted
> {
  /**
   * The same logic with other implementations in the session machine, such as your own source of
   * roots.
   */
  provide(implementations: SessionImplementations): SessionLogic;
}

/**
 * The session of an actor that a host has invoked or spawned, with `closed`, `dump()`, `ping()` and
 * its observables.
 *
 * @throws {TypeError} the actor is not a session
 */
export function sessionOf(actor: AnyActorRef): McpSession {
  const session = sessionOfActor(actor);
  if (session) return session;
  throw new TypeError(
    `The actor "${actor.id}" is no session: give what was invoked or spawned with a server's sessionLogic`,
  );
}

/** What servers say of themselves, by the logic of their sessions. */
const descriptions = new WeakMap<SessionLogic, Pick<ServerCore, 'server' | 'upstreams'>>();

/**
 * What a server's sessions answer `initialize` with, if nothing else is in their environment.
 * `prepared`: it is found out for each client.
 */
export function descriptionOf(logic: SessionLogic): ServerDescription | 'prepared' | undefined {
  const core = descriptions.get(logic);
  return core?.upstreams ? 'prepared' : core?.server;
}

/** @param machine the session machine, made once for all sessions */
export function sessionLogic(
  core: ServerCore,
  machine: typeof servedMachine = servedMachine,
): SessionLogic {
  const logic: SessionLogic = {
    provide: (implementations) => sessionLogic(core, machine.provide(implementations)),
    getInitialSnapshot: (scope, { transport, session: listened, ...options }) => {
      const actor = scope.self as SessionActorRef;
      const session =
        listened ??
        connected(new ServedSession(core, options, hostOf(actor), () => actor), transport);
      session.attach(actor);
      const { limits } = session;
      const { server } = session.actorless ?? session;
      const { isPrepared } = session;
      return machine.getInitialSnapshot(scope, { scope: session, server, limits, isPrepared });
    },
    start: (snapshot, { self }) => {
      const session = sessionOfActor(self);
      if (!session) {
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
  descriptions.set(logic, core);
  return logic;
}

/**
 * Gives a session its handlers and its transport. If that throws, the session fails when it is started, and is
 * a session until then.
 */
export function connected(session: ServedSession, transport: Transport): ServedSession {
  try {
    join(session, transport);
  } catch (error) {
    session.refuse(error);
  }
  return session;
}

function join(session: ServedSession, transport: Transport): void {
  const { core, environment, limits, report } = session;
  session.server = environment.begin({
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
    notice: (...change) => core.notice(session, ...change),
  });
  session.handlers = core.handlers(session);
  // A transport's actors may be callback logic. Only the input of their snapshots is ever read.
  session.actors = environment.transport(transport)({
    limits,
    report,
    peer: session.peer,
  }) as typeof session.actors;
  if (session.actors.quotas) session.traffic.discardFrames();
}

/**
 * A session in a host's system goes by the system's clock, if that tells the time. XState's default
 * clock has only timers, and they keep a process alive.
 */
function hostOf(actor: object): SessionHost {
  const { clock: given } = actor as { readonly clock?: Partial<Clock> };
  const clock = given && typeof given.now === 'function' ? (given as Clock) : systemClock;
  return { environment: liveEnvironment, clock, hostClock: clock };
}
