/** Session as actor logic, started by `listen`, or invoked or spawned in a host's actor system. */
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

/** Input of {@link SessionLogic}. */
export interface SessionLogicInput extends SessionOptions {
  /** Transport of this session only. Creates its two actors when the session starts. */
  readonly transport: Transport;
  /** Set by `listen`, which has connected the session. */
  readonly session?: ServedSession;
}

/**
 * Actor logic of a server's sessions: each actor invoked or spawned with it is a session. Its snapshot
 * is that of the session machine, its output contains the close cause, and it emits
 * {@link SessionEmitted}. No actor has a `systemId`, so a system can hold any number of sessions. A
 * session uses the system's clock if that has `now()`.
 *
 * `stop` aborts all calls immediately and sends nothing more. To drain a session, send
 * `session.shutdown`. Starting a session from a persisted snapshot fails, because its connection is
 * gone.
 */
export interface SessionLogic extends ActorLogic<
  SessionSnapshot,
  SessionEvent,
  SessionLogicInput,
  AnyActorRef['system'],
  SessionEmitted
> {
  /** Returns logic with other implementations in the session machine, such as another source of roots. */
  provide(implementations: SessionImplementations): SessionLogic;
}

/**
 * Returns the session of an invoked or spawned actor, with `closed`, `dump()`, `ping()` and observables.
 *
 * @throws {TypeError} if the actor is not a session
 */
export function sessionOf(actor: AnyActorRef): McpSession {
  const session = sessionOfActor(actor);
  if (session) return session;
  throw new TypeError(
    `The actor "${actor.id}" must be a session: pass an actor that was invoked or spawned with a server's sessionLogic`,
  );
}

/** Server descriptions by session logic. */
const descriptions = new WeakMap<SessionLogic, Pick<ServerCore, 'server' | 'upstreams'>>();

/** Server description in `initialize` results of the live environment; `perClient` with an upstream. */
export function descriptionOf(logic: SessionLogic): ServerDescription | 'perClient' | undefined {
  const core = descriptions.get(logic);
  return core?.upstreams ? 'perClient' : core?.server;
}

/** @param machine session machine, shared by all sessions */
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
        connect(new ServedSession(core, options, hostOf(actor), () => actor), transport);
      session.attach(actor);
      const { limits } = session;
      const { server } = session.actorless ?? session;
      const { hasUpstream } = session;
      return machine.getInitialSnapshot(scope, { scope: session, server, limits, hasUpstream });
    },
    start: (snapshot, { self }) => {
      const session = sessionOfActor(self);
      if (!session) {
        throw new Error(
          'A session cannot be restored from a snapshot, because its connection is gone: start a new session',
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

/** Connects a session to its handlers and its transport. An error fails the session when it starts. */
export function connect(session: ServedSession, transport: Transport): ServedSession {
  try {
    attachTransport(session, transport);
  } catch (error) {
    session.failOnStart(error);
  }
  return session;
}

function attachTransport(session: ServedSession, transport: Transport): void {
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
  // A transport's actors may be callback logic. Only the input of their snapshots is read.
  session.actors = environment.transport(transport)({
    limits,
    report,
    peer: session.peer,
  }) as typeof session.actors;
  if (session.actors.quotas) session.traffic.discardFrames();
}

/**
 * Uses the clock of the host's system if it has `now()`. XState's default clock has only timers, which
 * also keep the process alive.
 */
function hostOf(actor: object): SessionHost {
  const { clock: given } = actor as { readonly clock?: Partial<Clock> };
  const clock = given && typeof given.now === 'function' ? (given as Clock) : systemClock;
  return { environment: liveEnvironment, clock, hostClock: clock };
}
