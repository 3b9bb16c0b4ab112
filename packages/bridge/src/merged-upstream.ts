/**
 * All servers of a bridge merged into one upstream for one client, with one list per kind.
 *
 * A name or URI routes a request to its server, under the server's own name.
 */
import { defaultLimits } from '../../../src/actors/limits.ts';
import { waitFor } from '../../../src/actors/wait-for.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { listKinds } from '../../client/src/lists/list-kinds.ts';
import { preferenceMethods } from '../../client/src/lists/preferences.ts';
import type { HandlerContext } from '../../../src/server/context/handler-context.ts';
import { uncached } from '../../../src/server/define/caching.ts';
import type {
  Upstream,
  UpstreamClient,
  UpstreamWatch,
} from '../../../src/server/define/upstream.ts';
import type { CatalogName } from '../../client/src/lists/catalog.machine.ts';
import { BoundedMap } from '../../../src/protocol/bounded-map.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  invalidParams,
} from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { ServerDescription } from '../../../src/protocol/implementation.ts';
import { omit } from '../../../src/protocol/dialects/members.ts';
import { logLevelOf, logLevels } from '../../../src/protocol/log-levels.ts';
import type { LogLevel } from '../../../src/protocol/log-levels.ts';
import { MetaKey, withMeta } from '../../../src/protocol/meta.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { mayBeNamed, mayHaveDigest, splitName } from '../../client/src/hosts/merged-names.ts';
import { closestMatch } from '../../../src/protocol/suggestions.ts';
import { printableName, quoted } from '../../../src/protocol/printable.ts';
import { skillsExtension } from '../../../src/protocol/skills.ts';
import { declaresTasks, tasksExtension } from '../../../src/protocol/tasks.ts';
import { joinedInstructions } from './joined-instructions.ts';
import { subscriptionFailed } from './bridge-faults.ts';
import { toolIn } from './bridged-server.ts';
import { ManagedServer } from './managed-server.actor.ts';
import type { ManagedServerOwner, NamedEntry } from './managed-server.actor.ts';
import { settledInTime } from './staggered-timeout.ts';
import { ResourceOwners, named } from './resource-owners.ts';
import { serversResource, serversUri } from './servers-resource.ts';
import type { ServerReport } from './servers-resource.ts';
import { answerFinder, finderTools, listedFinderTools } from './tool-finder.ts';

/** Options of the merging. */
export interface MergingOptions {
  readonly clock: Clock;
  /** See `BridgeOptions.patienceMs`. */
  readonly patienceMs: number;
  /** Number of tools from which they are replaced by the three search tools. */
  readonly searchFrom: number;
  readonly serverInfo: ServerDescription['serverInfo'];
  /** Status of all configured servers for this client. */
  report(upstream: MergedUpstream): readonly ServerReport[];
  /** Receives log facts. */
  readonly note: Report;
}

/** Maximum number of reported name conflicts to remember. */
const maxReportedNames = 1000;

/** Maximum wait of the first list for starting servers, such as a cold `npx`, milliseconds. */
const startTimeoutMs = 15_000;

/** A request with its target server. */
interface Routed {
  readonly managed: ManagedServer;
  readonly params: JsonObject;
  /** Converts the server's result for the client. */
  readonly answer?: (result: JsonObject) => JsonObject;
  /** The list item that the request names, under the client's and the server's name. */
  readonly item?: {
    readonly list: 'tools' | 'prompts';
    readonly shown: string;
    readonly own: string;
  };
}

/** List name by method. */
const listOf: { readonly [method: string]: CatalogName } = Object.fromEntries(
  Object.values(listKinds).map(({ method, name }) => [method, name]),
);

/** List-changed notifications. */
const changes = [...new Set(Object.values(listKinds).map(({ changed }) => changed))];

export class MergedUpstream implements Upstream, ManagedServerOwner {
  readonly client: UpstreamClient;
  readonly clock: Clock;
  readonly #options: MergingOptions;
  /** In configuration order. */
  readonly #servers = new Map<string, ManagedServer>();
  readonly #owners = new ResourceOwners(this.#servers);
  /** Timers of pending notifications, which coalesce many changes into one. */
  readonly #announced = new Map<string, unknown>();
  /** Prefixed URIs that the client subscribes to. */
  readonly #watchedNames = new Set<string>();
  /** Log level set by the client, also for servers that connect later. */
  #logLevel: LogLevel | undefined = undefined;
  /** Reported name conflicts. */
  readonly #twice = new BoundedMap<string, true>(maxReportedNames);
  /** Announces list changes; a no-op before the client's first answer. */
  #onAvailability: () => void = () => {};
  #isPaused = false;
  /** Resolves once all servers have started or failed, or the wait has timed out. */
  #starting: Promise<void> | undefined = undefined;

  constructor(client: UpstreamClient, named: readonly NamedEntry[], options: MergingOptions) {
    this.client = withoutTasks(client);
    this.clock = options.clock;
    this.#options = options;
    for (const each of named) this.#servers.set(each.name, new ManagedServer(each, this));
  }

  /** Waits for all but late servers, which are listed once they are ready. */
  async start(): Promise<this> {
    const settled = [...this.#servers.values()].map(async (managed) => {
      await managed.settled();
      if (!managed.usable) throw managed.status.error ?? new Error('the server is unavailable');
    });
    await settledInTime(settled, this.#options);
    this.#onAvailability = () => this.#announceAll();
    return this;
  }

  /** Delays the first lists until servers have started, because a client may never list again. */
  #started(): Promise<void> {
    return (this.#starting ??= this.#awaitStart([...this.#servers.values()]));
  }

  async #awaitStart(servers: readonly ManagedServer[]): Promise<void> {
    const { clock, patienceMs, note } = this.#options;
    const timeoutMs = Math.max(startTimeoutMs, patienceMs);
    const all = Promise.all(servers.map((managed) => managed.settled()));
    const cancelled = () => new RuntimeError('CANCELLED', 'the client has disconnected');
    await waitFor<unknown>(
      { clock, timeoutMs, abortError: cancelled, onTimeout: ({ resolve }) => resolve(undefined) },
      ({ resolve }) => {
        void all.then(resolve);
        return () => {};
      },
    );
    const late = servers.filter(({ status: { state } }) => state === 'opening');
    if (late.length === 0) return;
    const names = late.map(({ name }) => printableName(name)).join(', ');
    const message = `Listed tools without servers that were not ready within ${timeoutMs} ms: ${names}. They are added once ready`;
    note({ level: 'warning', name: 'bridge.server-late', message });
  }

  get note(): Report {
    return this.#options.note;
  }

  get servers(): ReadonlyMap<string, ManagedServer> {
    return this.#servers;
  }

  /**
   * Applies a changed configuration; other servers are kept.
   *
   * @returns once the removed servers have closed
   */
  async apply(
    all: readonly NamedEntry[],
    ended: ReadonlySet<string>,
    begun: ReadonlySet<string>,
  ): Promise<void> {
    const before = new Map(this.#servers);
    this.#servers.clear();
    for (const each of all) {
      const kept = begun.has(each.name) ? undefined : before.get(each.name);
      kept?.adjust(each);
      const managed = kept ?? new ManagedServer(each, this);
      managed.pause(this.#isPaused);
      // The server is not connected yet, so this only records the level.
      if (!kept && this.#logLevel) void managed.setLogLevel(this.#logLevel);
      this.#servers.set(each.name, managed);
    }
    this.#announceAll();
    const gone = [...ended].flatMap((name) => before.get(name) ?? []);
    await Promise.all(gone.map((managed) => managed.close()));
  }

  // Description of the servers.

  /**
   * Capabilities of all servers, including those that unavailable servers may have: a client learns them only once.
   */
  get capabilities(): JsonObject {
    const some = (...name: [capability: string, member?: string]) =>
      [...this.#servers.values()].some((managed) => managed.mayHave(...name));
    const hasSkills = some('extensions', skillsExtension);
    return {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      ...(some('completions') ? { completions: {} } : {}),
      ...(some('logging') ? { logging: {} } : {}),
      ...(hasSkills ? { extensions: { [skillsExtension]: { directoryRead: true } } } : {}),
    };
  }

  /** The longest idle time of all servers. */
  get idleMs(): number | undefined {
    const times = [...this.#servers.values()].flatMap(({ usable }) => usable?.idleMs ?? []);
    return times.length > 0 ? Math.max(...times) : undefined;
  }

  get instructions(): string | undefined {
    const parts = [...this.#servers.values()].map(
      ({ name, instructions }) => [name, instructions] as const,
    );
    return joinedInstructions(parts);
  }

  get serverStates(): readonly ServerReport[] {
    return this.#options.report(this);
  }

  onAvailabilityChanged(): void {
    this.#onAvailability();
  }

  #announceAll(): void {
    for (const changed of changes) this.#announce(changed);
    this.#announce(Method.resourceUpdated, { uri: serversUri });
  }

  /** Schedules a notification; repeated changes are coalesced. */
  #announce(method: string, params?: JsonObject): void {
    if (this.#announced.has(method)) return;
    const timer = this.clock.setTimeout(() => {
      this.#announced.delete(method);
      this.client.notify(method, params);
    }, defaultLimits.listChangedQuietMs);
    this.#announced.set(method, timer);
  }

  onNotification(managed: ManagedServer, method: string, params: JsonObject | undefined): void {
    if (changes.includes(method)) return this.#announce(method);
    const { uri, logger } = params ?? {};
    if (method === Method.resourceUpdated && typeof uri === 'string') {
      for (const shown of this.#owners.names(managed, uri)) {
        if (shown === uri || this.#watchedNames.has(shown)) {
          this.client.notify(method, { ...params, uri: shown });
        }
      }
    } else if (method === Method.logMessage) {
      const own = typeof logger === 'string' ? `${managed.name}: ${logger}` : managed.name;
      this.client.notify(method, { ...params, logger: own });
    } else this.client.notify(method, params);
  }

  // Requests of the client.

  async request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
  ): Promise<JsonObject> {
    const list = listOf[method];
    // Lists have one page, so any cursor is foreign.
    if (params?.['cursor'] !== undefined && (list || method === 'skills/list')) {
      throw invalidParams('"cursor" must be one that this server has issued');
    }
    if (list) return this.#own(await this.#list(list), context);
    const answer = await this.#answered(method, params ?? {});
    if (answer) return this.#own(answer, context);
    return this.#pass(await this.#route(method, params ?? {}), method, context);
  }

  /** Forwards a request to its server, with the server's own names in its params. */
  async #pass(routed: Routed, method: string, context: HandlerContext): Promise<JsonObject> {
    const { managed, params, answer } = routed;
    const server = await managed.ready(context);
    let result: JsonObject;
    try {
      result = await server.request(method, this.#withoutTasks(params), context);
    } catch (error) {
      const isInvalid = error instanceof ProtocolError && error.code === ErrorCode.invalidParams;
      throw (isInvalid && (await this.#unlisted(routed))) || error;
    }
    const unlisted = result['isError'] === true && (await this.#unlisted(routed));
    if (unlisted) throw unlisted;
    this.#owners.seen(managed, result);
    if (preferenceMethods.has(method)) managed.prefer(method, params);
    return answer ? answer(result) : result;
  }

  /** The error for an item that its server does not list, under the name that the client used. */
  async #unlisted({ managed, item }: Routed): Promise<ProtocolError | undefined> {
    if (!item) return undefined;
    const { list, shown, own } = item;
    try {
      const { items } = await managed.list(list);
      return items.some(({ name }) => name === own) ? undefined : await this.#unknown(list, shown);
    } catch {
      // The server's own error is reported instead.
      return undefined;
    }
  }

  async #unknown(list: 'tools' | 'prompts', name: string): Promise<ProtocolError> {
    const names = (await this.#items(list)).items.map((item) => String(item['name']));
    const near = closestMatch(name, names);
    const advice = near === undefined ? '' : `. Did you mean ${near}?`;
    return invalidParams(`There is no ${list.slice(0, -1)} ${quoted(name)}${advice}`);
  }

  /** Removes a task request, because tasks of many servers cannot be routed. */
  #withoutTasks(params: JsonObject): JsonObject {
    const { capabilities } = this.client.peer;
    const others = params['task'] === undefined ? params : omit(params, 'task');
    const meta = others['_meta'];
    const told = isJsonObject(meta) ? meta[MetaKey.clientCapabilities] : undefined;
    if (!isJsonObject(told) || !declaresTasks(told)) return others;
    return withMeta(others, { [MetaKey.clientCapabilities]: capabilities });
  }

  async mayRequireInput(method: string, params: JsonObject | undefined): Promise<boolean> {
    if (listOf[method] || params?.['uri'] === serversUri) return false;
    try {
      const { managed, params: own } = await this.#route(method, params ?? {});
      return await (await managed.ready()).mayRequireInput(method, own);
    } catch {
      // The request itself will fail with the reason.
      return false;
    }
  }

  async tool(name: string): Promise<JsonObject | undefined> {
    // Tools behind the search tools are not listed.
    if (await this.#isSearched()) return undefined;
    const { managed, own } = await this.#ownerOf('tools', name);
    return toolIn(await managed.list('tools'), own);
  }

  /** Formats the bridge's own result for the client's revision. */
  #own(result: JsonObject, { client: { dialect } }: HandlerContext): JsonObject {
    const { serverInfo } = this.#options;
    return dialect.result(result, { serverInfo, capabilities: {} });
  }

  /** Answers requests for the bridge itself; undefined for others. */
  async #answered(method: string, params: JsonObject): Promise<JsonObject | undefined> {
    const { uri, name } = params;
    switch (method) {
      case 'logging/setLevel':
        return this.#setLevels(params['level']);
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return uri === serversUri ? {} : undefined;
      case 'resources/read':
        return uri === serversUri ? this.#status() : undefined;
      case 'skills/list': {
        const { dialect } = this.client.peer;
        return dialect.cacheable({ skills: await this.#skills() }, uncached);
      }
      case 'tools/call': {
        const isFinder = name === finderTools.find || name === finderTools.describe;
        if (!isFinder || !(await this.#isSearched())) return undefined;
        return answerFinder(name, params['arguments'], await this.#tools());
      }
      default:
        return undefined;
    }
  }

  async #setLevels(wanted: unknown): Promise<JsonObject> {
    const level = logLevelOf(wanted);
    if (level === undefined) throw invalidParams(`"level" must be one of ${logLevels.join(', ')}`);
    this.#logLevel = level;
    const servers = [...this.#servers.values()];
    await Promise.all(servers.map((managed) => managed.setLogLevel(level)));
    return {};
  }

  #status(): JsonObject {
    const text = JSON.stringify({ servers: this.serverStates }, undefined, 2);
    const contents = [{ uri: serversUri, mimeType: 'application/json', text }];
    return this.client.peer.dialect.cacheable({ contents }, uncached);
  }

  // Routing.

  /** @throws {ProtocolError} no server matches */
  async #route(method: string, params: JsonObject): Promise<Routed> {
    switch (method) {
      case 'tools/call':
        return this.#routeTool(params);
      case 'prompts/get':
        return this.#routeNamed('prompts', params);
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
      case 'skills/get':
      case 'resources/directory/read':
        return this.#routeResource(method, params);
      case 'completion/complete':
        return this.#routeCompletion(params);
      default:
        throw this.#nobodys(method);
    }
  }

  /** The error for a method whose params do not name a server. */
  #nobodys(method: string): ProtocolError {
    const { dialect } = this.client.peer;
    const isModern = dialect.sessionOfRequest(this.client) === undefined;
    const tasks = isModern ? tasksExtension : 'tasks';
    const lacking = method.startsWith('tasks/')
      ? `needs the capability "${tasks}", which`
      : 'is what';
    const message = `Method not found: ${printableName(method)} ${lacking} a bridge of many servers does not support, because the request names no server`;
    return new ProtocolError(ErrorCode.methodNotFound, message);
  }

  async #routeTool(params: JsonObject): Promise<Routed> {
    if (params['name'] !== finderTools.call || !(await this.#isSearched())) {
      return this.#routeNamed('tools', params);
    }
    const given = params['arguments'];
    const { name, arguments: args } = isJsonObject(given) ? given : {};
    const rest = omit(params, 'arguments');
    const called = { ...rest, name, ...(args === undefined ? {} : { arguments: args }) };
    return this.#routeNamed('tools', called);
  }

  async #routeNamed(list: 'tools' | 'prompts', params: JsonObject): Promise<Routed> {
    const { name } = params;
    if (typeof name !== 'string') throw invalidParams('"name" must be a string');
    const { managed, own } = await this.#ownerOf(list, name);
    const item = { list, shown: name, own };
    return { managed, params: { ...params, name: own }, item };
  }

  /** Finds the server of a name. A name with a server prefix needs no list. */
  async #ownerOf(
    list: 'tools' | 'prompts',
    name: string,
  ): Promise<{ readonly managed: ManagedServer; readonly own: string }> {
    const { server = '', tool: own = '' } = splitName(name) ?? {};
    const spelt = this.#servers.get(server);
    const isPlain = spelt?.shown(own) === name;
    // With a filter, an unlisted name may be an alias of a hidden tool.
    const isListed = list === 'tools' && spelt?.isFiltered === true;
    const plain = spelt && isPlain && !isListed ? { managed: spelt, own } : undefined;
    // A shortened name with a digest may look like a server prefix.
    const isDigested = mayHaveDigest(name);
    if (plain && !isDigested) return plain;
    if (!isPlain || isDigested || isListed) {
      const may = [...this.#servers.values()].filter((managed) => mayBeNamed(managed.name, name));
      const look = () =>
        may.flatMap((managed) => {
          const own = managed.ownName(list, name);
          return own === undefined ? [] : [{ managed, own }];
        })[0];
      const known = look();
      if (known) return known;
      await settledInTime(
        may.map((managed) => managed.list(list)),
        this.#options,
      );
      const found = look() ?? plain;
      if (found) return found;
    }
    throw await this.#unknown(list, name);
  }

  async #routeResource(method: string, params: JsonObject): Promise<Routed> {
    const { uri } = params;
    if (typeof uri !== 'string') throw invalidParams('"uri" must be a string');
    const { managed, uri: own } = await this.#resource(uri);
    if (method === 'resources/subscribe') this.#watchedNames.add(uri);
    if (method === 'resources/unsubscribe') this.#watchedNames.delete(uri);
    return {
      managed,
      params: { ...params, uri: own },
      answer: (result) => named(result, own, uri),
    };
  }

  /** @throws {ProtocolError} no server is known to have the URI */
  async #resource(uri: string) {
    const known = this.#owners.of(uri);
    if (known) return known;
    await Promise.all([this.#items('resources'), this.#items('resourceTemplates'), this.#skills()]);
    const found = this.#owners.of(uri);
    if (found) return found;
    // A server may have unlisted resources, and other servers must not see its URIs.
    const able = [...this.#servers.values()].filter((managed) => managed.mayHave('resources'));
    const [only] = able;
    if (only && able.length === 1) return { managed: only, uri };
    throw this.client.peer.dialect.resourceNotFound(uri);
  }

  async #routeCompletion(params: JsonObject): Promise<Routed> {
    const { ref } = params;
    if (!isJsonObject(ref)) throw invalidParams('"ref" must be an object');
    const { type, name, uri } = ref;
    if (type === 'ref/prompt' && typeof name === 'string') {
      const { managed, own } = await this.#ownerOf('prompts', name);
      return { managed, params: { ...params, ref: { ...ref, name: own } } };
    }
    if (type !== 'ref/resource' || typeof uri !== 'string') {
      throw invalidParams('"ref" must be a prompt with a name, or a resource with a uri');
    }
    const owned = await this.#resource(uri);
    return { managed: owned.managed, params: { ...params, ref: { ...ref, uri: owned.uri } } };
  }

  // Lists.

  async #list(list: CatalogName): Promise<JsonObject> {
    const { items, ttlMs } = await this.#items(list);
    const shown = list === 'tools' && this.#isPastSearch(items) ? listedFinderTools : items;
    return this.client.peer.dialect.cacheable(
      { [listKinds[list].name]: shown },
      { ttlMs, scope: 'private' },
    );
  }

  async #tools(): Promise<readonly JsonObject[]> {
    return (await this.#items('tools')).items;
  }

  /** True if the client gets the three search tools instead of all tools. */
  async #isSearched(): Promise<boolean> {
    const { searchFrom } = this.#options;
    if (searchFrom === Infinity) return false;
    return searchFrom === 0 || this.#isPastSearch(await this.#tools());
  }

  #isPastSearch(tools: readonly JsonObject[]): boolean {
    return tools.length >= this.#options.searchFrom;
  }

  /**
   * All items of a kind under their merged names. Late servers are added later with a notification.
   */
  async #items(list: CatalogName): Promise<{ items: readonly JsonObject[]; ttlMs: number }> {
    await this.#started();
    const servers = [...this.#servers.values()].filter(({ isOffered }) => isOffered);
    const before = servers.map((managed) => managed.known(list));
    const lists = await settledInTime(
      servers.map((managed) => managed.list(list)),
      this.#options,
      (at, { items }) => {
        if (before[at]?.items !== items) this.#announce(listKinds[list].changed);
      },
    );
    const shown = servers.flatMap((managed, at) =>
      ((lists[at] ?? before[at])?.items ?? []).map((item) => this.#shown(list, managed, item)),
    );
    const items = list === 'tools' || list === 'prompts' ? this.#once(list, shown) : shown;
    const ttls = lists.map((each) => each?.ttlMs ?? 0);
    const isWhole = servers.length === this.#servers.size;
    const own = list === 'resources' ? [serversResource] : [];
    return { items: [...own, ...items], ttlMs: isWhole ? Math.min(...ttls) : 0 };
  }

  /** Skills of all servers. Of two with the same URI, only the first is listed. */
  async #skills(): Promise<readonly JsonObject[]> {
    await this.#started();
    const servers = [...this.#servers.values()].filter(({ isOffered }) => isOffered);
    const lists = await settledInTime(
      servers.map(async (managed) => (await managed.ready()).skills()),
      this.#options,
    );
    return servers.flatMap((managed, at) =>
      (lists[at] ?? []).filter(({ uri }) => {
        const isIts = this.#owners.hasSkill(managed, uri);
        if (!isIts) this.#reportTwice('skills', uri);
        return isIts;
      }),
    );
  }

  /** Removes duplicate names, which shortened names with a digest may produce. */
  #once(list: string, items: readonly JsonObject[]): readonly JsonObject[] {
    const first = new Map<unknown, JsonObject>();
    for (const item of items) {
      const name = item['name'];
      if (first.has(name)) this.#reportTwice(list, String(name));
      else first.set(name, item);
    }
    return [...first.values()];
  }

  #reportTwice(list: string, name: string): void {
    if (this.#twice.has(name)) return;
    this.#twice.set(name, true);
    const also = list === 'skills' ? '' : ', or its server';
    const message = `Two ${list} are named ${quoted(name)}, only the first is listed: rename the other${also}`;
    this.#options.note({ level: 'warning', name: 'bridge.name-taken', message });
  }

  #shown(list: CatalogName, managed: ManagedServer, item: JsonObject): JsonObject {
    switch (list) {
      case 'tools':
        this.#owners.seenTool(managed, item);
        return { ...item, name: managed.shown(String(item['name'])) };
      case 'prompts':
        return { ...item, name: managed.shown(String(item['name'])) };
      case 'resources':
        return { ...item, uri: this.#owners.shown(managed, String(item['uri'])) };
      case 'resourceTemplates': {
        const { uriTemplate } = item;
        return { ...item, uriTemplate: this.#owners.shown(managed, String(uriTemplate)) };
      }
    }
  }

  // Lifecycle and notifications.

  onClientNotification(method: string, params: JsonObject | undefined): void {
    for (const { usable } of this.#servers.values()) usable?.onClientNotification?.(method, params);
  }

  async watch(uris: readonly string[]): Promise<UpstreamWatch> {
    const watched = await Promise.all(
      uris.map(async (uri): Promise<{ readonly uri: string; end(): void } | undefined> => {
        if (uri === serversUri) return { uri, end: () => {} };
        try {
          const { managed, uri: own } = await this.#resource(uri);
          const watch = await managed.watch([own]);
          if (watch.uris.length === 0) return undefined;
          this.#watchedNames.add(uri);
          return {
            uri,
            end: () => {
              this.#watchedNames.delete(uri);
              watch.end();
            },
          };
        } catch (error) {
          this.#options.note(subscriptionFailed(uri, error));
          return undefined;
        }
      }),
    );
    const agreed = watched.filter((each) => each !== undefined);
    return {
      uris: agreed.map(({ uri }) => uri),
      end: () => agreed.forEach((each) => each.end()),
    };
  }

  pause(): void {
    this.#isPaused = true;
    for (const managed of this.#servers.values()) managed.pause(true);
  }

  resume(): void {
    this.#isPaused = false;
    for (const managed of this.#servers.values()) managed.pause(false);
  }

  async close(): Promise<void> {
    for (const timer of this.#announced.values()) this.clock.clearTimeout(timer);
    await Promise.all([...this.#servers.values()].map((managed) => managed.close()));
  }
}

/** The client as its servers see it, without tasks. */
function withoutTasks(client: UpstreamClient): UpstreamClient {
  const { peer } = client;
  const { extensions } = peer.capabilities;
  if (!declaresTasks(peer.capabilities) || !isJsonObject(extensions)) return client;
  const capabilities = { ...peer.capabilities, extensions: omit(extensions, tasksExtension) };
  return { ...client, peer: { ...peer, capabilities } };
}
