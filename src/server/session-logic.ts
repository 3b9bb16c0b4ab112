/** The session machine with one session's actors provided. */
import { askRootsActor } from '../actors/ask-roots.actor.ts';
import type { Clock } from '../actors/clock.ts';
import { correlationActor } from '../actors/correlation.actor.ts';
import { probeActor } from '../actors/ping.actor.ts';
import { routerActor } from '../actors/router.actor.ts';
import { Traffic } from '../actors/traffic.ts';
import { keepaliveMachine } from '../machines/keepalive.machine.ts';
import { rootsMachine } from '../machines/roots.machine.ts';
import type { Port } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import { sessionMachine } from '../machines/session.machine.ts';
import type { SessionInput } from '../machines/session.machine.ts';
import type { Report } from '../protocol/facts.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { RequestHandler } from '../actors/call.ts';
import { sessionContexts } from './context/session-contexts.ts';
import type { SessionState } from './context/session-view.ts';
import type { ServerDefinition } from './definition.ts';
import { completesSomething, completionFeature } from './features/completion.ts';
import { promptsFeature } from './features/prompts.ts';
import { resourcesFeature } from './features/resources.ts';
import { offersTasks, tasksFeature } from './features/tasks.ts';
import { toolsFeature } from './features/tools.ts';
import type { Feature, FeatureScope } from './features/feature.ts';
import type { Limits } from './limits.ts';
import { withMiddleware } from './middleware.ts';
import type { Middleware } from './middleware.ts';
import type { Offer } from './offer.ts';
import type { SessionEdge, SessionOutset } from './session-edge.ts';
import { Transitions } from './transitions.ts';
import type { Transport } from './transport.ts';

export interface SessionLogicOptions {
  /** Where the session machine stands. */
  state(): SessionState;
  readonly limits: Limits;
  readonly report: Report;
  /** Of what is the author's. */
  readonly clock: Clock;
  /** Of the session's own actors: where it has an edge, the edge's. */
  readonly ownClock: Clock;
  /** Sends a notification to the client, if the session is in operation. */
  readonly notify: FeatureScope['notify'];
  readonly whenOperating: FeatureScope['whenOperating'];
  readonly timeOfDay: FeatureScope['timeOfDay'];
  readonly inspect?: FeatureScope['inspect'];
  /** Random ids of tasks and requests. */
  readonly randomId: () => string;
  readonly edge: SessionEdge | undefined;
}

/** One session's machine: it is started once, because its features remember what the client subscribed to. */
export function createSessionLogic(
  definition: ServerDefinition,
  offer: Offer,
  transport: Transport,
  options: SessionLogicOptions,
) {
  const { limits, report, edge, ownClock: clock } = options;
  const timeOfDay = edge?.timeOfDay(options.timeOfDay) ?? options.timeOfDay;
  const randomId = edge
    ? (of: 'request' | 'task') => edge.randomId(of, options.randomId)
    : options.randomId;
  /** Of what is the author's. */
  const notify = edge?.notify(options.notify) ?? options.notify;
  const { contextOf, session, logging } = sessionContexts({
    ...options,
    notify,
    logging: definition.logging,
    resourceUpdated: (uri) => resources?.updated(uri),
  });
  const transitions = new Transitions(report);
  const scope: FeatureScope = { ...options, notify, contextOf, randomId, transitions };
  const taskScope = { ...scope, notify: options.notify, clock, timeOfDay };
  const tasks = offersTasks(offer.tools) ? tasksFeature(offer.tools, taskScope) : undefined;
  const resources = offersResources(definition) ? resourcesFeature(offer, scope) : undefined;
  const features: Feature[] = logging ? [logging] : [];
  if (definition.tools) features.push(toolsFeature(offer.tools, scope));
  if (resources) features.push(resources);
  if (definition.prompts) features.push(promptsFeature(offer.prompts, scope));
  if (definition.completions || completesSomething(offer)) {
    features.push(completionFeature(offer, scope));
  }
  const authored = handlersOf(features, offer.middleware, contextOf);
  if (tasks) features.push(tasks);
  const described = describeServer(definition, features);
  const outset = () => outsetOf(described, authored, offer, { ...options, definition });
  const server = edge?.begin(outset(), transitions) ?? described;
  const handlers = new Map(edge?.handlers(authored) ?? authored);
  const callTool = handlers.get('tools/call');
  if (tasks && callTool) handlers.set('tools/call', tasks.augment(callTool));
  if (tasks) {
    for (const [method, handler] of handlersOf([tasks], offer.middleware, contextOf)) {
      handlers.set(method, handler);
    }
  }
  const hearing = { lastHeardAt: -Infinity };
  const traffic = new Traffic(report, { hearing, clock: options.clock });
  const { reader, writer } = (edge?.transport(transport) ?? transport)({ limits, report });
  const { resolveRoots } = definition;
  const ask = askRootsActor(edge ? edge.resolveRoots(resolveRoots) : resolveRoots);
  const logic = sessionMachine.provide({
    actors: {
      // Of the snapshots of other logic nothing is asked.
      reader: traffic.reader(reader as Port<ReaderEvent, ReaderInput>),
      writer: traffic.writer(writer as Port<WriterEvent, WriterInput>),
      router: routerActor({
        handlerOf: (method) => handlers.get(method),
        ...limits,
        hearing,
        clock,
        report,
      }),
      correlation: correlationActor({
        ...limits,
        clock,
        report,
        randomId: () => randomId('request'),
      }),
      roots: transitions.hear('roots', rootsMachine.provide({ actors: { ask } })),
      keepalive: transitions.hear(
        'keepalive',
        keepaliveMachine.provide({ actors: { probe: probeActor(hearing, clock) } }),
      ),
    },
  });
  return {
    /** To be heard once a host's implementations are in it: they make another machine of it. */
    logic,
    input: { server, limits } satisfies SessionInput,
    session,
    traffic,
    transitions,
    hearing,
    /** Every task that is kept, oldest first. */
    tasks: () => tasks?.kept() ?? [],
    /** Begins what the features do by themselves. Gives what releases all that they hold, for the session's end. */
    start: () => {
      const ends = features.map((feature) => feature.start?.());
      return () => {
        for (const end of ends) end?.();
        for (const feature of features) feature.stop?.();
      };
    },
  };
}

function outsetOf(
  server: ServerDescription,
  handlers: ReadonlyMap<string, RequestHandler>,
  { tools }: Offer,
  { limits, report, definition }: SessionLogicOptions & { readonly definition: ServerDefinition },
): SessionOutset {
  const taskTools = tools
    .list()
    .flatMap(({ item: { name, taskSupport } }) => (taskSupport ? [[name, taskSupport]] : []));
  return {
    server,
    limits,
    methods: [...handlers.keys()],
    prepared: [...handlers].flatMap(([method, { prepare }]) => (prepare ? [method] : [])),
    taskTools: Object.fromEntries(taskTools) as SessionOutset['taskTools'],
    resolvesRoots: definition.resolveRoots !== undefined,
    report,
  };
}

function offersResources({ resources, resourceTemplates }: ServerDefinition): boolean {
  return resources !== undefined || resourceTemplates !== undefined;
}

function handlersOf(
  features: readonly Feature[],
  middleware: readonly Middleware[],
  contextOf: FeatureScope['contextOf'],
): Map<string, RequestHandler> {
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
