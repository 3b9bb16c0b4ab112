/**
 * Shared state of a server's sessions: features, handlers with middleware, compiled schemas, the server
 * description, and the set of open sessions.
 */
import type { RequestHandler } from '../actors/request-context.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import { stateSealer } from '../rounds/request-state.ts';
import type { StateSealer } from '../rounds/request-state.ts';
import type { ServerDefinition } from './define/definition.ts';
import { serverCacheHints } from './define/caching.ts';
import type { ServerCacheHints } from './define/caching.ts';
import { checkItem } from './define/item-rules.ts';
import type { ItemRules } from './define/item-rules.ts';
import { checkErrorExposure } from './define/tool.ts';
import { completesSomething, completionFeature } from './features/completion.ts';
import type { ChangingList, Feature, CurrentSettings } from './features/feature.ts';
import { subscriptionsOnDemand } from './features/subscriptions-on-demand.ts';
import type { SubscriptionsFeature } from './features/subscriptions.ts';
import { inspectValue } from '../protocol/classify.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import { notifyChanges } from './features/list-changes.observable.ts';
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

/** Immutable configuration of new sessions, rebuilt when the server changes. */
interface Service {
  readonly server: ServerDescription;
  /** Handlers that run the author's code. */
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
  misplaced: { limits: 'is unknown: pass it to serve() or listen()' },
};

export class ServerCore implements CurrentSettings {
  readonly catalog: ServerCatalog;
  readonly sealer: StateSealer;
  /** Open sessions. */
  readonly sessions = new Set<SessionScope>();
  readonly #middleware: Middleware[] = [];
  readonly #toolsOffered: Feature;
  readonly #resources: ResourcesFeature;
  readonly #promptsOffered: Feature;
  readonly #skillsOffered: Feature;
  readonly #completion: Feature;
  readonly #subscriptions: SubscriptionsFeature;
  /** Upstreams of the clients, if the definition has one. */
  readonly upstreams: UpstreamsFeature | undefined;
  readonly #tasks: TasksOnDemand;
  /** Listeners of list changes at other instances, by notification method. */
  readonly #remoteListeners = new Map<string, ReadonlySet<() => void>>();
  #changeListener: ChangeNotice | undefined = undefined;
  #definition: ServerDefinition;
  #caching: ServerCacheHints;
  /** Undefined after a change, until the next use. */
  #service: Service | undefined;

  constructor(definition: ServerDefinition) {
    this.#caching = checkedHints(definition);
    const catalog = catalogOf(definition);
    this.#definition = definition;
    this.catalog = catalog;
    this.#subscriptions = subscriptionsOnDemand(
      (session, taskId, call) => this.#tasks.listenTo(session, taskId, call),
      (call) => this.upstreams?.listenTarget(call),
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
    for (const list of this.#lists) this.#watchList(list);
    for (const changing of [catalog.tools, catalog.prompts, catalog.resourceTemplates]) {
      changing.onChange(() => this.#invalidate());
    }
  }

  /** Current definition. */
  get definition(): ServerDefinition {
    return this.#definition;
  }

  get caching(): ServerCacheHints {
    return this.#caching;
  }

  get errors(): ServerDefinition['errors'] {
    return this.#definition.errors;
  }

  /**
   * Replaces the definition for new calls. Running and suspended calls keep the old one.
   *
   * @throws {TypeError} if the definition is invalid or changes a fixed member; the server is then unchanged
   */
  replace(next: ServerDefinition): void {
    const caching = checkedHints(next);
    const offered = catalogOf(next);
    checkReplacement(this.#definition, next);
    const lists = this.#lists.map((list) => ({
      list,
      before: JSON.stringify(list.describeItems()),
    }));
    const wereForSome = new Set(this.#items.filter(({ isRestricted: isForSome }) => isForSome));
    this.catalog.tools.visibility.byTag = next.visible ?? {};
    this.catalog.tools.replaceWith(offered.tools);
    this.catalog.resources.replaceWith(offered.resources);
    this.catalog.resourceTemplates.replaceWith(offered.resourceTemplates);
    this.catalog.prompts.replaceWith(offered.prompts);
    this.catalog.skills.replaceWith(offered.skills);
    this.#definition = next;
    this.#caching = caching;
    this.#invalidate();
    for (const session of this.sessions) {
      session.handlers = this.handlers(session);
      // Recorded sessions keep the description in their header; upstreams describe each client's server.
      const isPlain = session.environment === liveEnvironment && !this.upstreams;
      if (isPlain) session.server = this.server;
    }
    for (const { list, before } of lists) {
      if (before !== JSON.stringify(list.describeItems())) list.sources[0]?.announce();
    }
    // Items may have become restricted or unrestricted without any other difference.
    for (const items of this.#items) {
      if (items.isRestricted === wereForSome.has(items)) continue;
      for (const session of this.sessions) items.sessionChanged(session);
    }
    this.#recheckAll();
  }

  get #lists(): readonly ChangingList[] {
    const all = [this.#toolsOffered, this.#resources, this.#promptsOffered];
    return all.flatMap(({ list }) => list ?? []);
  }

  /** Features declared by the definition. */
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

  /** Notifies sessions and subscriptions of changes of a list. */
  #watchList({ sources: here, notification: changed, capability }: ChangingList): void {
    const { sessions } = this;
    const { visibility } = this.catalog.tools;
    for (const source of here) source.onChange(() => this.#changeListener?.(changed));
    const elsewhere = new Set<() => void>();
    this.#remoteListeners.set(changed, elsewhere);
    const onChange = (listener: () => void) => {
      elsewhere.add(listener);
      return () => elsewhere.delete(listener);
    };
    const sources = [...here, { onChange }];
    notifyChanges(sources, {
      sessions,
      whenReady: (session, callback) => session.whenOperating(callback),
      notify: (session) => {
        // The capability may have been added after the client was initialized.
        const isDeclared = session.declared.capabilities[capability] !== undefined;
        if (isDeclared && visibility.haveChanged(session, here)) session.notify(changed);
      },
    });
    notifyChanges(sources, {
      sessions,
      whenReady: (_, callback) => {
        callback();
        return () => {};
      },
      notify: (session) => this.#changed(session, changed),
    });
  }

  /** Sets the listener of local changes that affect all sessions. */
  listen(listener: ChangeNotice | undefined): void {
    this.#changeListener = listener;
  }

  /** Notifies all sessions of a change at another instance. */
  remoteChange(method: string, uri?: string): void {
    if (method === visibilityChanged) this.#recheckAll();
    else if (uri === undefined) {
      for (const tell of this.#remoteListeners.get(method) ?? []) tell();
    } else if (method === Method.elicitationComplete) this.#completed(uri);
    else for (const session of this.sessions) session.resourceUpdated(uri);
  }

  /** Notifies clients of all lists and subscribed resources, after changes at other instances were missed. */
  resync(): void {
    this.#recheckAll();
    for (const method of this.#remoteListeners.keys()) this.remoteChange(method);
    for (const session of this.sessions) {
      const upstreams = this.upstreams?.openIn(session) ?? [];
      const uris = [session, ...upstreams].flatMap((each) => this.#subscriptions.urisOf(each));
      for (const uri of new Set([...this.#resources.subscribedBy(session), ...uris])) {
        session.resourceUpdated(uri);
      }
    }
  }

  /** Reevaluates `visible`, and notifies the clients whose lists have changed. */
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
    for (const items of this.#items) if (items.isRestricted) items.sessionChanged(session);
  }

  get #items() {
    const { tools, resources, resourceTemplates, prompts, skills } = this.catalog;
    return [tools, resources, resourceTemplates, prompts, skills];
  }

  /**
   * Shows or hides the items with this name in one session.
   *
   * @throws {TypeError} if no item has this name
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
    for (const items of named) items.sessionChanged(session);
  }

  /** Completes a URL elicitation. @returns false if no session here has it open */
  elicitationCompleted(elicitationId: string): boolean {
    if (this.#completed(elicitationId)) return true;
    // The elicitation may belong to another instance.
    this.#changeListener?.(Method.elicitationComplete, elicitationId);
    return false;
  }

  #completed(elicitationId: string): boolean {
    return [...this.sessions].some((session) => session.elicitationCompleted(elicitationId));
  }

  /** Notifies all sessions and other instances of a changed resource. */
  resourceChanged(uri: string): void {
    for (const session of this.sessions) session.resourceUpdated(uri);
    this.#changeListener?.(Method.resourceUpdated, uri);
  }

  /** Wraps the handlers of new sessions with middleware. */
  use(middleware: Middleware): void {
    this.#middleware.push(middleware);
    this.#invalidate();
  }

  /** Setup of a new session. */
  setup({ limits, resumption }: SessionScope): SessionSetup {
    const { server, authored } = this.#currentService();
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

  /** Server description for a new client. */
  get server(): ServerDescription {
    return this.#currentService().server;
  }

  /** Handlers of a new session. Its environment may replace those of the author. */
  handlers({
    durable,
    environment,
    isSupervised,
  }: Pick<SessionScope, 'durable' | 'environment' | 'isSupervised'>): Handlers {
    if (durable && offersDurableCalls(this.catalog.tools)) this.#tasks.begin();
    const { authored, handlers, tasks } = this.#currentService();
    const provided = environment.handlers(authored);
    const isPlain = provided === authored && !isSupervised;
    return isPlain ? handlers : this.#withInternal(provided, tasks, isSupervised);
  }

  /** Tasks of a session; undefined before the first. */
  tasksOf(session: SessionScope): ReturnType<TasksFeature['sessionTasksOf']> {
    return this.#tasks.sessionTasksOf(session);
  }

  resourceUpdated(session: SessionScope, uri: string): void {
    this.#resources.updated(session, uri);
    this.#changed(session, Method.resourceUpdated, uri);
  }

  /** Notifies the subscriptions of a session, bypassing its environment. */
  notice(session: SessionScope, ...[method, uri, except]: Parameters<ChangeNotice>): void {
    const notice =
      uri === undefined ? { method } : { method, subject: uri, params: () => ({ uri }) };
    for (const owner of [session, ...(this.upstreams?.openIn(session) ?? [])]) {
      this.#subscriptions.notice(owner, notice, except);
    }
  }

  #changed(session: SessionScope, method: string, uri?: string): void {
    const except = this.#subscriptions.excludedFrom(session, method, uri);
    const noted = except.length > 0 ? except : undefined;
    const notice: ChangeNotice = (...again) => this.notice(session, ...again);
    session.environment.notice(notice, method, uri, noted);
  }

  #invalidate(): void {
    this.#service = undefined;
  }

  #currentService(): Service {
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
      handlers: this.#withInternal(authored, tasks),
      tasks,
    };
  }

  /** Adds the handlers that do not run the author's code and are also used by replays. */
  #withInternal(
    authored: Handlers,
    tasks: TasksFeature | undefined,
    isSupervised = false,
  ): Handlers {
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

/** Change method that tells other instances to reevaluate `visible`. */
const visibilityChanged = 'visibility';

/**
 * Validates a definition without its items, and resolves its cache hints.
 *
 * @throws {TypeError} naming the invalid member
 */
function checkedHints(definition: ServerDefinition): ServerCacheHints {
  checkItem(definition, rules);
  checkErrorExposure(definition.errors, `the server "${definition.name}"`);
  checkVisibleByTag(definition.visible, `the server "${definition.name}"`);
  return serverCacheHints(definition.caching);
}

/** @throws {TypeError} if the next definition changes a fixed member */
function checkReplacement(now: ServerDefinition, next: ServerDefinition): void {
  const refuse = (what: string) => {
    throw new TypeError(
      `The definition of the server "${now.name}" cannot be replaced: ${what}. Create another server`,
    );
  };
  if (next.name !== now.name) {
    refuse(`"name" must not change, got "${next.name}"`);
  }
  if (next.upstream !== now.upstream) refuse('"upstream" must not change');
  if (JSON.stringify(next.stateKeys) !== JSON.stringify(now.stateKeys)) {
    refuse('"stateKeys" must not change');
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

/** Keys in the environment variable `MCP_STATE_KEYS`, if set. */
export function environmentKeys(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: NodeJS.ProcessEnv } };
  return process?.env?.['MCP_STATE_KEYS']?.split(',').map((key) => key.trim());
}
