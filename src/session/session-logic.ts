/**
 * The session machine with its actors, provided once for all sessions. What belongs to one session
 * comes to them in their input.
 */
import { askRootsActor } from '../actors/roots/ask-roots.actor.ts';
import { correlationActor } from '../actors/correlation/correlation.actor.ts';
import { probeActor } from '../actors/probe.actor.ts';
import type { Traffic } from '../actors/traffic.ts';
import { routerActor } from '../actors/router/router.actor.ts';
import { serverSide } from '../actors/router/server-side.ts';
import { keepaliveMachine } from '../machines/keepalive.machine.ts';
import type { Port, PortSnapshot, Ref } from '../machines/port.ts';
import { rootsMachine } from '../machines/roots.machine.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  InputScope,
  WriterEvent,
  WriterInput,
} from '../machines/peer-ports.ts';
import { sessionMachine } from '../machines/session.machine.ts';
import { sessionIn } from './session-scope.ts';
import type { SessionScope } from './session-scope.ts';
import { observedMachine, isMachine } from '../actors/transitions.ts';

/** Implementations of the session machine's actors, guards, actions and delays. */
export type SessionImplementations = Parameters<typeof sessionMachine.provide>[0];

/** The reader of a session's transport. Observes the frames that it hands to the router. */
const reader: Port<ReaderEvent, ReaderInput> = {
  ...transportPort<ReaderEvent, ReaderInput>(({ ends }) => ends.reader),
  getInitialSnapshot: (actorScope, input) => {
    const { scope, owner } = input;
    const { traffic, ends } = sessionIn(input);
    const router = new ObservedRouter(input.router, traffic);
    return ends.reader.getInitialSnapshot(actorScope, { scope, owner, router });
  },
};

/** The router, as a reader has it. */
class ObservedRouter implements Pick<Ref<RouterEvent>, 'send'> {
  readonly #router: Pick<Ref<RouterEvent>, 'send'>;
  readonly #traffic: Traffic;

  constructor(router: Pick<Ref<RouterEvent>, 'send'>, traffic: Traffic) {
    this.#router = router;
    this.#traffic = traffic;
  }

  send(event: RouterEvent): void {
    if (event.type === 'frames.received') this.#traffic.received(event.frames);
    this.#router.send(event);
  }
}

/** The writer of a session's transport. Observes the frames that it gets. */
const transportWriter = transportPort<WriterEvent, WriterInput>(({ ends }) => ends.writer);
const writer: Port<WriterEvent, WriterInput> = {
  ...transportWriter,
  transition: (snapshot, event, actorScope) => {
    if (event.type === 'frames.send') sessionIn(snapshot.input).traffic.sent(event.frames);
    return transportWriter.transition(snapshot, event, actorScope);
  },
};

/** A port of the shared machine that runs the logic of each session's own transport. */
function transportPort<TEvent extends { readonly type: string }, TInput extends InputScope>(
  logicOf: (session: SessionScope) => Port<TEvent, TInput>,
): Port<TEvent, TInput> {
  const logicIn = ({ input }: PortSnapshot<TEvent, TInput>) => logicOf(sessionIn(input));
  return {
    getInitialSnapshot: (actorScope, input) =>
      logicOf(sessionIn(input)).getInitialSnapshot(actorScope, input),
    start: (snapshot, actorScope) => logicIn(snapshot).start?.(snapshot, actorScope),
    transition: (snapshot, event, actorScope) =>
      logicIn(snapshot).transition(snapshot, event, actorScope),
    getPersistedSnapshot: (snapshot, options) =>
      logicIn(snapshot).getPersistedSnapshot(snapshot, options),
  };
}

const ask = askRootsActor((input) => {
  const session = sessionIn(input);
  const { environment, resolveRoots, report } = session;
  return {
    retain: (bytes) => session.retainRoots(bytes),
    resolve: environment.resolveRoots(resolveRoots),
    list: (request) => environment.listRoots(request),
    report,
  };
});

/** What every session runs, unless its host provides something else. */
export const servedMachine = observedMachine(
  'session',
  sessionMachine.provide({
    actors: {
      reader,
      writer,
      router: routerActor(serverSide, sessionIn),
      correlation: correlationActor(sessionIn),
      roots: observedMachine('roots', rootsMachine.provide({ actors: { ask } }), sessionIn),
      keepalive: observedMachine(
        'keepalive',
        keepaliveMachine.provide({ actors: { probe: probeActor(sessionIn) } }),
        sessionIn,
      ),
    },
  }),
  sessionIn,
);

/** The machine with a host's implementations. The host's own machines are observed, not changed. */
export function provideMachine(
  machine: typeof sessionMachine,
  { actors, ...others }: SessionImplementations,
): typeof sessionMachine {
  const { roots, keepalive } = actors ?? {};
  const given: SessionImplementations = {
    ...others,
    ...(actors
      ? {
          actors: {
            ...actors,
            ...(isMachine(roots) ? { roots: observedMachine('roots', roots, sessionIn) } : {}),
            ...(isMachine(keepalive)
              ? { keepalive: observedMachine('keepalive', keepalive, sessionIn) }
              : {}),
          },
        }
      : {}),
  };
  return observedMachine('session', machine.provide(given), sessionIn);
}
