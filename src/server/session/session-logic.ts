/** Session machine with its actors, shared by all sessions. Per-session data is passed as input. */
import { rootsQueryActor } from '../../actors/roots/roots-query.actor.ts';
import { correlationActor } from '../../actors/correlation/correlation.actor.ts';
import { probeActor } from '../../actors/probe.actor.ts';
import { observedWriter, readerPort } from '../../actors/traffic.ts';
import { routerActor } from '../../actors/router/router.actor.ts';
import { serverSide } from '../../actors/router/server-side.ts';
import { keepaliveMachine } from '../../machines/keepalive.machine.ts';
import { rootsMachine } from '../../machines/roots.machine.ts';
import { sessionMachine } from '../../machines/session.machine.ts';
import { upstreamActor } from './upstream.actor.ts';
import { sessionIn } from './session-scope.ts';

/** Overrides of the session machine's actors, guards, actions and delays. */
export type SessionImplementations = Parameters<typeof sessionMachine.provide>[0];

const ask = rootsQueryActor((input) => {
  const session = sessionIn(input);
  const { environment, resolveRoots, report } = session;
  return {
    reserve: (bytes) => session.retainRoots(bytes),
    resolve: environment.resolveRoots(resolveRoots),
    list: (request) => environment.listRoots(request),
    report,
  };
});

/** Machine of every session, unless its host overrides implementations. */
export const servedMachine: typeof sessionMachine = sessionMachine.provide({
  actors: {
    reader: readerPort(sessionIn),
    writer: observedWriter(sessionIn),
    router: routerActor(serverSide, sessionIn, (input) => sessionIn(input).actorless?.router),
    correlation: correlationActor(sessionIn),
    upstream: upstreamActor,
    roots: rootsMachine.provide({ actors: { ask } }),
    keepalive: keepaliveMachine.provide({ actors: { probe: probeActor(sessionIn) } }),
  },
});
