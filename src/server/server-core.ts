/**
 * What all sessions of a server share, made once: the features, the handlers with middleware around
 * them, the compiled schemas, the description for `initialize`. It knows the open sessions.
 */
import type { RequestHandler } from '../actors/request-context.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import { stateSealer } from '../rounds/request-state.ts';
import type { StateSealer } from '../rounds/request-state.ts';
import type { ServerDefinition } from './define/definition.ts';
import { knownHints } from './define/caching.ts';
import type { KnownHints } from './define/caching.ts';
import { checkItem } from './define/item-faults.ts';
import type { ItemRules } from './define/item-faults.ts';
import { checkErrorExposure } from './define/tool.ts';
import { completesSomething, completionFeature } from './features/completion.ts';
import type { ChangingList, Feature, InForce } from './features/feature.ts';
import { subscriptionsOnDemand } from './features/subscriptions-on-demand.ts';
import type { SubscriptionsFeature } from './features/subscriptions.ts';
import { inspectValue } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import { tellChanges } from './features/list-changed.observable.ts';
import { loggingFeature } from './features/logging.ts';
import { promptsFeature } from './features/prompts.ts';
import { resourcesFeature } from './features/resources.ts';
import type { ResourcesFeature } from './features/resources.ts';
import { skillsFeature } from './features/skills.ts';
import { tasksOnDemand } from './features/tasks-on-demand.ts';
import { offersDurableCalls } from './features/task-tools.ts';
import type { TasksFeature } from './features/task-tools.ts';
import type { TasksOnDemand } from './features/tasks-on-demand.ts';
import { appsFeature, offersApps, toolsFeature } from './features/tools.ts';
import { withMiddleware } from './features/middleware.ts';
import type { Middleware } from './features/middleware.ts';
import { catalogOf } from './features/registry.ts';
import type { ServerCatalog } from './features/registry.ts';
import { checkVisibleByTag } from './define/visible.ts';
import { upstreamsMakerOf } from './upstreams-feature.ts';
import type { UpstreamsFeature } from './upstreams-feature.ts';
import { liveEnvironment } from './session/session-environment.ts';
import type { ChangeNotice, SessionSetup } from './session/session-environment.ts';
import type { SessionScope } from './session/session-scope.ts';

type Handlers = ReadonlyMap<string, RequestHandler>;

/**
 * What a session that begins now gets, and keeps. It is replaced when the server changes.
 */
interface Service {
  readonly server: ServerDescription;
  /** The handlers that run the author's code. */
  readonly authored: Handlers;
  /** All handlers. */
  readonly handlers: Handlers;
  readonly tasks: TasksFeature | undefined;
}

const rules: ItemRules = {
  kind: 'server',
  key: 'name',
  strings: ['version'],
  functions: [],
  members: {
    name: true,
    version: true,
    title: true,
    icons: true,
    websiteUrl: true,
    instructions: true,
    tools: true,
    resources: true,
    resourceTemplates: true,
    prompts: true,
    skills: true,
    completions: true,
    caching: true,
    logging: true,
    resolveRoots: true,
    stateKeys: true,
    onClose: true,
    upstream: true,
    errors: true,
    visible: true,
  } satisfies Record<keyof ServerDefinition, true>,
  synonyms: {},
  elsewhere: { limits: 'is an option of serve() and listen()' },
};

export class ServerCore implements InForce {
  readonly catalog: ServerCatalog;
  readonly sealer: StateSealer;
  /** The open sessions. */
  readonly sessions = new Set<SessionScope>();
  readonly #middleware: Middleware[] = [];
  readonly #toolsOffered: Feature;
  readonly #resources: ResourcesFeature;
  readonly #promptsOffered: Feature;
  readonly #skillsOffered: Feature;
  readonly #completion: Feature;
  readonly #subscriptions: SubscriptionsFeature;
  /** The upstreams of its clients, if it has any. */
  readonly upstreams: UpstreamsFeature | undefined;
  readonly #tasks: TasksOnDemand;
  /** What is called if another server of the same kind has changed a list, by the notification. */
  readonly #listsElsewhere = new Map<string, ReadonlySet<() => void>>();
  #changeListener: ChangeNotice | undefined = undefined;
  #definition: ServerDefinition;
  #caching: KnownHints;
  /** Undefined after a change, until the next session begins. */
  #service: Service | undefined;

  constructor(definition: ServerDefinition) {
    this.#caching = checkedHints(definition);
    const catalog = catalogOf(definition);
    this.#definition = definition;
    this.catalog = catalog;
    this.#subscriptions = subscriptionsOnDemand(
      (session, taskId, call) => this.#tasks.listenTo(session, taskId, call),
      (call) => this.upstreams?.listening(call),
      catalog,
    );
    catalog.tools.visibility.callerChanged = (session) => this.#recheck(session);
    const { upstream } = definition;
    this.upstreams =
      upstream &&
      upstreamsMakerOf(upstream)(
        () => this.server,
        (owner, notice) => this.#subscriptions.notice(owner, notice),
      );
    this.sealer = stateSealer(definition.name, definition.stateKeys ?? environmentKeys());
    this.#toolsOffered = toolsFeature(catalog.tools, this);
    this.#resources = resourcesFeature(catalog, this);
    this.#promptsOffered = promptsFeature(catalog.prompts, this);
    this.#skillsOffered = skillsFeature(catalog.skills, this);
    this.#completion = completionFeature(catalog);
    this.#tasks = tasksOnDemand(catalog.tools, (session, notice) =>
      this.#subscriptions.notice(session, notice),
    );
    for (const list of this.#lists) this.#tellChanges(list);
    for (const changing of [catalog.tools, catalog.prompts, catalog.resourceTemplates]) {
      changing.onChange(() => this.#change());
    }
  }

  /** What the server is made of now. */
  get definition(): ServerDefinition {
    return this.#definition;
  }

  get caching(): KnownHints {
    return this.#caching;
  }

  get errors(): ServerDefinition['errors'] {
    return this.#definition.errors;
  }

  /**
   * Replaces the definition, for all that comes from now on. What runs or
   * is suspended goes on with the one that it began with.
   *
   * @throws {TypeError} the definition is wrong, or cannot take the place; nothing has changed
   */
  replace(next: ServerDefinition): void {
    const caching = checkedHints(next);
    const offered = catalogOf(next);
    refuseOther(this.#definition, next);
    const lists = this.#lists.map((list) => ({ list, before: JSON.stringify(list.shown()) }));
    const wereForSome = new Set(this.#items.filter(({ isForSome }) => isForSome));
    this.catalog.tools.visibility.byTag = next.visible ?? {};
    this.catalog.tools.exchange(offered.tools);
    this.catalog.resources.exchange(offered.resources);
    this.catalog.resourceTemplates.exchange(offered.resourceTemplates);
    this.catalog.prompts.exchange(offered.prompts);
    this.catalog.skills.exchange(offered.skills);
    this.#definition = next;
    this.#caching = caching;
    this.#change();
    for (const session of this.sessions) {
      session.handlers = this.handlers(session);
      // A recording has it in its header, and an upstream says it for each client.
      const isPlain = session.environment === liveEnvironment && !this.upstreams;
      if (isPlain) session.server = this.server;
    }
    for (const { list, before } of lists) {
      if (before !== JSON.stringify(list.shown())) list.sources[0]?.announce();
    }
    // What was for all may be for some now, or the other way round, and look the same.
    for (const items of this.#items) {
      if (items.isForSome === wereForSome.has(items)) continue;
      for (const session of this.sessions) items.changedFor(session);
    }
    this.#recheckAll();
  }

  get #lists(): readonly ChangingList[] {
    const all = [this.#toolsOffered, this.#resources, this.#promptsOffered];
    return all.flatMap(({ list }) => list ?? []);
  }

  /** The features that the definition names. */
  get #features(): readonly Feature[] {
    const { logging, tools, resources, resourceTemplates, prompts, skills } = this.#definition;
    return [
      ...(logging ? [loggingFeature] : []),
      ...(tools ? [this.#toolsOffered] : []),
      ...((resources ?? resourceTemplates ?? skills) ? [this.#resources] : []),
      ...(prompts ? [this.#promptsOffered] : []),
      ...(skills ? [this.#skillsOffered] : []),
    ];
  }

  /** Clients of sessions are notified, and so are those that listen for it. */
  #tellChanges({ sources: here, changed, capability }: ChangingList): void {
    const { sessions } = this;
    const { visibility } = this.catalog.tools;
    for (const source of here) source.onChange(() => this.#changeListener?.(changed));
    const elsewhere = new Set<() => void>();
    this.#listsElsewhere.set(changed, elsewhere);
    const onChange = (listener: () => void) => {
      elsewhere.add(listener);
      return () => elsewhere.delete(listener);
    };
    const sources = [...here, { onChange }];
    tellChanges(sources, {
      sessions,
      whenReady: (session, callback) => session.whenOperating(callback),
      tell: (session) => {
        // The definition may have got its first one since the client was greeted.
        const isDeclared = session.declared.capabilities[capability] !== undefined;
        if (isDeclared && visibility.differ(session, here)) session.notify(changed);
      },
    });
    tellChanges(sources, {
      sessions,
      whenReady: (_, callback) => {
        callback();
        return () => {};
      },
      tell: (session) => this.#changed(session, changed),
    });
  }

  /** Hears of what changes here for all sessions. */
  listen(listener: ChangeNotice | undefined): void {
    this.#changeListener = listener;
  }

  /** Tells all sessions of a change that was made at another server of the same kind. */
  changedElsewhere(method: string, uri?: string): void {
    if (method === visibilityChanged) this.#recheckAll();
    else if (uri === undefined) {
      for (const tell of this.#listsElsewhere.get(method) ?? []) tell();
    } else if (method === Method.elicitationComplete) this.#completed(uri);
    else for (const session of this.sessions) session.resourceUpdated(uri);
  }

  /** Changes elsewhere were missed: lists and all that clients have subscribed to may be others now. */
  changesMissed(): void {
    this.#recheckAll();
    for (const method of this.#listsElsewhere.keys()) this.changedElsewhere(method);
    for (const session of this.sessions) {
      const upstreams = this.upstreams?.in(session) ?? [];
      const uris = [session, ...upstreams].flatMap((each) => this.#subscriptions.urisOf(each));
      for (const uri of new Set([...this.#resources.subscribedBy(session), ...uris])) {
        session.resourceUpdated(uri);
      }
    }
  }

  /** What `visible` answers may have changed: those hear of it whose lists are others now. */
  visibilityChanged(): void {
    this.#recheckAll();
    this.#changeListener?.(visibilityChanged);
  }

  #recheckAll(): void {
    const { visibility } = this.catalog.tools;
    for (const session of this.sessions) {
      if (visibility.hasShown(session) || session.state === 'modern') this.#recheck(session);
    }
  }

  #recheck(session: SessionScope): void {
    for (const items of this.#items) if (items.isForSome) items.changedFor(session);
  }

  get #items() {
    const { tools, resources, resourceTemplates, prompts, skills } = this.catalog;
    return [tools, resources, resourceTemplates, prompts, skills];
  }

  /**
   * Shows or hides the items of a name in one session.
   *
   * @throws {TypeError} nothing has this name
   */
  switch(session: SessionScope, name: string, isEnabled: boolean): void {
    const named = this.#items.filter((items) => items.get(name) !== undefined);
    if (named.length === 0) {
      throw new TypeError(
        `The server has no tool, prompt, resource, resource template or skill ${inspectValue(name)}`,
      );
    }
    if (!session.switch(name, isEnabled)) return;
    this.catalog.tools.visibility.isSwitched = true;
    for (const items of named) items.changedFor(session);
  }

  /** Somebody has done what a client was asked to do at a URL. @returns false if no session here has asked */
  elicitationCompleted(elicitationId: string): boolean {
    if (this.#completed(elicitationId)) return true;
    // Another server of the same kind may have asked.
    this.#changeListener?.(Method.elicitationComplete, elicitationId);
    return false;
  }

  #completed(elicitationId: string): boolean {
    return [...this.sessions].some((session) => session.elicitationCompleted(elicitationId));
  }

  /** A resource has changed here. */
  resourceChanged(uri: string): void {
    for (const session of this.sessions) session.resourceUpdated(uri);
    this.#changeListener?.(Method.resourceUpdated, uri);
  }

  /** Puts middleware around every handler of the sessions that begin from now on. */
  use(middleware: Middleware): void {
    this.#middleware.push(middleware);
    this.#change();
  }

  /** The setup of a session that begins now. */
  setup({ limits, resumption }: SessionScope): SessionSetup {
    const { server, authored } = this.#now();
    const taskTools = this.catalog.tools
      .list()
      .flatMap(({ item: { name, taskSupport } }) => (taskSupport ? [[name, taskSupport]] : []));
    return {
      server,
      limits,
      methods: [...authored.keys()],
      taskTools: Object.fromEntries(taskTools) as SessionSetup['taskTools'],
      resolvesRoots: this.definition.resolveRoots !== undefined,
      ...(resumption === 'replay' ? { resume: resumption } : {}),
    };
  }

  /** How the server describes itself to a client that connects now. */
  get server(): ServerDescription {
    return this.#now().server;
  }

  /** The handlers of a session that begins now. Its environment may replace those of the author. */
  handlers({
    durable,
    environment,
    isSupervised,
  }: Pick<SessionScope, 'durable' | 'environment' | 'isSupervised'>): Handlers {
    if (durable && offersDurableCalls(this.catalog.tools)) this.#tasks.begin();
    const { authored, handlers, tasks } = this.#now();
    const provided = environment.handlers(authored);
    const isPlain = provided === authored && !isSupervised;
    return isPlain ? handlers : this.#withOwn(provided, tasks, isSupervised);
  }

  /** The tasks of a session; undefined before the first. */
  tasksOf(session: SessionScope): ReturnType<TasksFeature['sessionTasksOf']> {
    return this.#tasks.sessionTasksOf(session);
  }

  resourceUpdated(session: SessionScope, uri: string): void {
    this.#resources.updated(session, uri);
    this.#changed(session, Method.resourceUpdated, uri);
  }

  /** Tells the subscriptions of a session, without passing its environment. */
  notice(session: SessionScope, ...[method, uri, except]: Parameters<ChangeNotice>): void {
    const notice =
      uri === undefined ? { method } : { method, subject: uri, params: () => ({ uri }) };
    for (const owner of [session, ...(this.upstreams?.in(session) ?? [])]) {
      this.#subscriptions.notice(owner, notice, except);
    }
  }

  #changed(session: SessionScope, method: string, uri?: string): void {
    const except = this.#subscriptions.blindTo(session, method, uri);
    const noted = except.length > 0 ? except : undefined;
    const notice: ChangeNotice = (...again) => this.notice(session, ...again);
    session.environment.notice(notice, method, uri, noted);
  }

  #change(): void {
    this.#service = undefined;
  }

  #now(): Service {
    return (this.#service ??= this.#serve());
  }

  #serve(): Service {
    const { catalog, definition } = this;
    const own = this.#features;
    const completes = definition.completions ?? completesSomething(catalog);
    const features = [
      ...own,
      ...(completes ? [this.#completion] : []),
      ...(offersApps(catalog.tools) ? [appsFeature] : []),
    ];
    const tasks = this.#tasks.isOffered ? this.#tasks : undefined;
    const behind = this.upstreams && [this.upstreams.feature(features, catalog)];
    const authored = this.#handlersOf([...features, ...(behind ?? [])]);
    return {
      server: describeServer(definition, tasks ? [...features, tasks] : features),
      authored,
      handlers: this.#withOwn(authored, tasks),
      tasks,
    };
  }

  /** With the handlers that run none of the author's code: a replay runs them, too. */
  #withOwn(authored: Handlers, tasks: TasksFeature | undefined, isSupervised = false): Handlers {
    const isAugmented = isSupervised || tasks || offersDurableCalls(this.catalog.tools);
    const callTool = isAugmented && authored.get('tools/call');
    return new Map([
      ...authored,
      ...(callTool
        ? [['tools/call', this.#tasks.augment(callTool, tasks !== undefined)] as const]
        : []),
      ...this.#handlersOf(tasks ? [this.#subscriptions, tasks] : [this.#subscriptions]),
    ]);
  }

  #handlersOf(features: readonly Feature[]): Handlers {
    const middleware = [...this.#middleware];
    const handlers = features.flatMap((feature) => Object.entries(feature.handlers));
    return new Map(
      handlers.map(([method, handler]) => [method, withMiddleware(handler, middleware)]),
    );
  }
}

/** What a node tells others if `visible` may answer otherwise. */
const visibilityChanged = 'visibility';

/**
 * The hints of a definition that is as it must be, as far as it is seen without its items.
 *
 * @throws {TypeError} naming what is wrong
 */
function checkedHints(definition: ServerDefinition): KnownHints {
  checkItem(definition, rules);
  checkErrorExposure(definition.errors, `the server "${definition.name}"`);
  checkVisibleByTag(definition.visible, `the server "${definition.name}"`);
  return knownHints(definition.caching);
}

/** @throws {TypeError} the next definition differs in what holds as long as the server */
function refuseOther(now: ServerDefinition, next: ServerDefinition): void {
  const refuse = (what: string) => {
    throw new TypeError(
      `The definition of the server "${now.name}" cannot be replaced: ${what}. Make another server of it`,
    );
  };
  if (next.name !== now.name) {
    refuse(`the next one is named "${next.name}", and what waits is sealed under the name`);
  }
  if (next.upstream !== now.upstream) refuse('the next one has another "upstream"');
  if (JSON.stringify(next.stateKeys) !== JSON.stringify(now.stateKeys)) {
    refuse('the next one has other "stateKeys"');
  }
}

function describeServer(
  definition: ServerDefinition,
  features: readonly Feature[],
): ServerDescription {
  const { name, version, title, icons, websiteUrl, instructions } = definition;
  const capabilities = features.flatMap((feature) => Object.entries(feature.capabilities));
  const extensions = capabilities.flatMap(([name, value]) =>
    name === 'extensions' ? Object.entries(value as JsonObject) : [],
  );
  return {
    serverInfo: {
      name,
      version,
      ...(title === undefined ? {} : { title }),
      ...(icons ? { icons } : {}),
      ...(websiteUrl === undefined ? {} : { websiteUrl }),
    },
    capabilities: {
      ...Object.fromEntries(capabilities),
      ...(extensions.length > 0 ? { extensions: Object.fromEntries(extensions) } : {}),
    },
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** The keys in `MCP_STATE_KEYS`, if there is an environment. */
export function environmentKeys(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: NodeJS.ProcessEnv } };
  return process?.env?.['MCP_STATE_KEYS']?.split(',').map((key) => key.trim());
}
