/** The session machine with its actors provided: what `listen` starts, and what a host may invoke or spawn itself. */
import { askRootsActor } from '../actors/ask-roots.actor.ts';
import type { Clock } from '../actors/clock.ts';
import { correlationActor } from '../actors/correlation.actor.ts';
import { routerActor } from '../actors/router.actor.ts';
import { rootsMachine } from '../machines/roots.machine.ts';
import { sessionMachine } from '../machines/session.machine.ts';
import type { SessionInput } from '../machines/session.machine.ts';
import type { Report } from '../protocol/facts.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Call, RequestHandler } from '../actors/call.ts';
import { CallContext } from './call-context.ts';
import type { ServerDefinition } from './definition.ts';
import { resourcesFeature } from './features/resources.ts';
import { toolsFeature } from './features/tools.ts';
import type { Feature, FeatureScope } from './features/feature.ts';
import type { Limits } from './limits.ts';
import type { Transport } from './transport.ts';

export interface SessionLogicOptions {
  readonly limits: Limits;
  readonly report: Report;
  readonly clock: Clock;
  /** Sends a notification to the client. */
  readonly notify: (method: string, params: JsonObject) => void;
}

/** One session's logic: it is started once, because its features remember what the client subscribed to. */
export function createSessionLogic(
  definition: ServerDefinition,
  transport: Transport,
  { limits, report, clock, notify }: SessionLogicOptions,
) {
  const { tools, resources, resolveRoots, instructions, name, version, title } = definition;
  const scope: FeatureScope = {
    contextOf: (call: Call) => new CallContext(call, limits, clock),
    notify,
    report,
  };
  const resourceList = resources ? resourcesFeature(resources, scope) : undefined;
  const features: Feature[] = [];
  if (tools) features.push(toolsFeature(tools, scope));
  if (resourceList) features.push(resourceList);
  const handlers = new Map<string, RequestHandler>(
    features.flatMap((feature) => Object.entries(feature.handlers)),
  );
  const input: SessionInput = {
    server: {
      serverInfo: { name, version, ...(title === undefined ? {} : { title }) },
      capabilities: Object.fromEntries(
        features.flatMap(({ capabilities }) => Object.entries(capabilities)),
      ),
      ...(instructions === undefined ? {} : { instructions }),
    },
    limits,
  };
  const logic = sessionMachine.provide({
    actors: {
      ...transport({ limits, report }),
      router: routerActor({ handlerOf: (method) => handlers.get(method), ...limits, report }),
      correlation: correlationActor({ ...limits, clock, report }),
      roots: rootsMachine.provide({ actors: { ask: askRootsActor(resolveRoots) } }),
    },
  });
  return {
    logic,
    input,
    /** Tells the client that a resource has changed, if it has subscribed to it. */
    resourceUpdated: (uri: string) => resourceList?.updated(uri),
  };
}
