/** The session machine with its actors provided: what `listen` starts, and what a host may invoke or spawn itself. */
import { askRootsActor } from '../actors/ask-roots.actor.ts';
import type { Clock } from '../actors/clock.ts';
import { correlationActor } from '../actors/correlation.actor.ts';
import { routerActor } from '../actors/router.actor.ts';
import { rootsMachine } from '../machines/roots.machine.ts';
import { sessionMachine } from '../machines/session.machine.ts';
import type { SessionInput } from '../machines/session.machine.ts';
import type { Report } from '../protocol/facts.ts';
import type { ServerDescription } from '../protocol/initialize.ts';
import type { Call, RequestHandler } from '../actors/call.ts';
import { CallContext } from './call-context.ts';
import type { ServerDefinition } from './definition.ts';
import { resourcesFeature } from './features/resources.ts';
import { toolsFeature } from './features/tools.ts';
import type { Feature, FeatureScope } from './features/feature.ts';
import type { Limits } from './limits.ts';
import { withMiddleware } from './middleware.ts';
import type { Middleware } from './middleware.ts';
import type { Offer } from './offer.ts';
import type { Transport } from './transport.ts';

export interface SessionLogicOptions {
  readonly limits: Limits;
  readonly report: Report;
  readonly clock: Clock;
  /** Sends a notification to the client, if the session is in operation. */
  readonly notify: FeatureScope['notify'];
}

/** One session's logic: it is started once, because its features remember what the client subscribed to. */
export function createSessionLogic(
  definition: ServerDefinition,
  offer: Offer,
  transport: Transport,
  { limits, report, clock, notify }: SessionLogicOptions,
) {
  const contextOf = (call: Call) => new CallContext(call, limits, clock);
  const scope: FeatureScope = { contextOf, notify, report, clock, limits };
  const resources = offersResources(definition) ? resourcesFeature(offer, scope) : undefined;
  const features: Feature[] = [];
  if (definition.tools) features.push(toolsFeature(offer.tools, scope));
  if (resources) features.push(resources);
  const handlers = handlersOf(features, offer.middleware, contextOf);
  const logic = sessionMachine.provide({
    actors: {
      ...transport({ limits, report }),
      router: routerActor({ handlerOf: (method) => handlers.get(method), ...limits, report }),
      correlation: correlationActor({ ...limits, clock, report }),
      roots: rootsMachine.provide({ actors: { ask: askRootsActor(definition.resolveRoots) } }),
    },
  });
  return {
    logic,
    input: { server: describeServer(definition, features), limits } satisfies SessionInput,
    /** Tells the client that a resource has changed, if it has subscribed to it. */
    resourceUpdated: (uri: string) => resources?.updated(uri),
    /** Releases what the features hold, at the session's end. */
    stop: () => {
      for (const feature of features) feature.stop?.();
    },
  };
}

function offersResources({ resources, resourceTemplates }: ServerDefinition): boolean {
  return resources !== undefined || resourceTemplates !== undefined;
}

function handlersOf(
  features: readonly Feature[],
  middleware: readonly Middleware[],
  contextOf: FeatureScope['contextOf'],
): ReadonlyMap<string, RequestHandler> {
  const handlers = features.flatMap((feature) => Object.entries(feature.handlers));
  return new Map(
    handlers.map(([method, handler]) => [method, withMiddleware(handler, middleware, contextOf)]),
  );
}

function describeServer(
  definition: ServerDefinition,
  features: readonly Feature[],
): ServerDescription {
  const { name, version, title, icons, websiteUrl, instructions } = definition;
  const capabilities = features.flatMap((feature) => Object.entries(feature.capabilities));
  return {
    serverInfo: {
      name,
      version,
      ...(title === undefined ? {} : { title }),
      ...(icons ? { icons } : {}),
      ...(websiteUrl === undefined ? {} : { websiteUrl }),
    },
    capabilities: Object.fromEntries(capabilities),
    ...(instructions === undefined ? {} : { instructions }),
  };
}
