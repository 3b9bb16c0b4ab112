/** Manager of many servers: a map of connections, and one merged tool list. */
import { keepAlive, onceAtTurnEnd, systemClock } from '../../../../src/actors/clock.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  invalidParams,
} from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import type { WaitHandle } from '../../../../src/actors/wait-for.ts';
import { closestMatch } from '../../../../src/protocol/suggestions.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import type { Connection } from '../connection/connection.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import type { ConnectionOptions, HostRequestOptions } from '../connection/options.ts';
import { defaultConnectionLimits } from '../connection/limits.ts';
import { changesBetween } from './config-changes.ts';
import { configInvalid } from './config-problem.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { HostsConfig } from './hosts-file.ts';
import { mayBeNamed, mergeTools, splitName } from './merged-names.ts';
import type { HostedServer } from './server-entry.ts';
import { ManagedServer } from './managed-server.ts';
import type { SlotHost } from './managed-server.ts';
import type { FoundTool, MergedTool, ServerStatus, Startup } from './server-reports.ts';
import type { ConnectionMaker, Servers, ManagedOptions } from './servers.ts';
import { ServersFeed } from './servers-streams.observable.ts';
import { SlotChart, UnconnectedServers } from './slot-chart.ts';
import { ToolSearch } from './tool-search.ts';
import { defaultCacheFolder, toolsCache } from './tools-cache.ts';

const defaultStartupMs = 3000;
const defaultMaxStarting = 8;

/** Maximum time a starting server holds a start slot without becoming ready, ms. */
const placeMs = 1000;

type Listed = MergedTool & { readonly tool: string };

export class ServerManager implements Servers {
  readonly tools$: Servers['tools$'];
  readonly events$: Servers['events$'];
  readonly #slots = new Map<string, ManagedServer>();
  readonly #feed: ServersFeed;
  readonly #host: SlotHost;
  /** Limits concurrent starts, FIFO. */
  readonly #turns: FairSemaphore;
  /** Resolves once the startup is over. */
  readonly #startup: Promise<void>;
  #settleStart: () => void = () => {};
  readonly #unconnected: UnconnectedServers;
  /** Results of `forServer` for connections not created yet: it is called once per connection. */
  readonly #ownOptions = new Map<string, Partial<ConnectionOptions> | undefined>();
  #config: HostsConfig;
  /** The merged list; undefined after a change until needed. */
  #mergedNow: ReadonlyMap<string, MergedTool> | undefined = undefined;
  readonly #search: ToolSearch;
  #closed: Promise<void> | undefined;
  readonly #ends: (() => void)[] = [];

  constructor(config: HostsConfig, options: ManagedOptions, maker: ConnectionMaker) {
    const { clock = systemClock, cacheFolder = defaultCacheFolder(options.environment) } = options;
    const { report = () => {} } = options;
    this.#feed = new ServersFeed(() => this.#connections());
    ({ tools$: this.tools$, events$: this.events$ } = this.#feed);
    this.#host = {
      open: (...wanted) => maker.open(...wanted),
      callerOf: (name, entry) => {
        const own = this.#ownOptions.get(name) ?? options.forServer?.(name);
        this.#ownOptions.set(name, own);
        return maker.callerOf(entry, { ...options, ...own });
      },
      clock,
      report,
      cache: cacheFolder === false ? undefined : toolsCache(cacheFolder),
      now: () => new Date().toISOString(),
      optionsFor: (name) => this.#optionsFor(name, options),
      opened: (connection) => this.#feed.opened(connection),
      reported: (server, report) => this.#feed.happened({ type: 'tools', server, report }),
      changed: () => this.#changed(),
    };
    this.#search = new ToolSearch({ clock, slots: this.#slots, merged: () => this.#merged() });
    this.#turns = new FairSemaphore(options.maxStarting ?? defaultMaxStarting);
    this.#config = config;
    for (const [name, server] of config.servers) this.#add(name, server);
    const { startupMs = defaultStartupMs } = options;
    this.#startup = this.#waitForStart([...config.servers.keys()], startupMs);
    const { watchers = [] } = options;
    this.#unconnected = new UnconnectedServers(watchers, clock, (name, { state }) => {
      const slot = this.#slots.get(name);
      return slot?.chart ?? new SlotChart(state === 'disabled' ? 'disabled' : 'faulty', report);
    });
    this.#changed();
  }

  get faults(): readonly ConfigProblem[] {
    return this.#config.faults;
  }

  get remarks(): readonly ConfigProblem[] {
    return this.#config.remarks;
  }

  get status(): ReadonlyMap<string, ServerStatus> {
    return new Map([...this.#config.servers.keys()].map((name) => [name, this.#statusOf(name)]));
  }

  #statusOf(name: string): ServerStatus {
    const slot = this.#slots.get(name);
    if (slot) return slot.status;
    const server = this.#config.servers.get(name);
    if (server?.kind !== 'invalid') {
      return { state: 'disabled', launches: 0, tools: { state: 'asking' } };
    }
    const error = configInvalid(server.faults);
    return {
      state: 'failed',
      error,
      launches: 0,
      tools: { state: 'failed', reason: error.message },
    };
  }

  get tools(): readonly MergedTool[] {
    return [...this.#merged().values()];
  }

  async started(): Promise<Startup> {
    const release = keepAlive();
    await this.#startup.finally(release);
    const named = (...states: readonly ServerStatus['state'][]) =>
      [...this.status].flatMap(([name, { state }]) => (states.includes(state) ? [name] : []));
    return {
      ready: named('ready'),
      late: named('connecting', 'lost', 'backoff'),
      failed: named('failed'),
    };
  }

  /** Waits until each server is ready or has failed, at most `startupMs`. */
  #waitForStart(servers: readonly string[], startupMs: number): Promise<void> {
    let awaited = servers;
    return new Promise((resolve) => {
      const { clock } = this.#host;
      const timer = clock.setTimeout(resolve, startupMs);
      this.#settleStart = () => {
        awaited = awaited.filter((name) => isUnderway(this.#statusOf(name).state));
        if (awaited.length > 0 && !this.#closed) return;
        clock.clearTimeout(timer);
        resolve();
      };
    });
  }

  get(server: string): Connection | undefined {
    return this.#slots.get(server)?.connection;
  }

  async use(server: string): Promise<Connection> {
    const slot = this.#slots.get(server);
    if (slot) return slot.use();
    throw this.#unusable(server);
  }

  /** The error for a server without a slot. */
  #unusable(server: string): Error {
    const { error } = this.#statusOf(server);
    if (error) return error;
    const names = [...this.#config.servers.keys()];
    const near = closestMatch(server, names);
    const message = names.includes(server)
      ? 'the server is disabled'
      : `unknown server${near === undefined ? '' : `. Did you mean ${near}?`}`;
    return configInvalid([{ file: this.#config.file, server, message }]);
  }

  async listTools({
    refresh = false,
    ...options
  }: HostRequestOptions & { readonly refresh?: boolean } = {}): Promise<readonly MergedTool[]> {
    const asked = [...this.#slots.values()].filter(
      (slot) => refresh || !['idle', 'closed'].includes(slot.status.state) || !slot.isListed,
    );
    const { timeoutMs = defaultConnectionLimits.requestTimeoutMs } = options;
    const enough = new AbortController();
    const { signal } = enough;
    // Failed or late servers are missing from the list; their status has the reason.
    const lists = asked.map(async (slot) => {
      const isLate = options.whenAway === 'refuse' && isUnderway(slot.status.state);
      if (isLate) return;
      const connection = await slot.use();
      // A failed server never gets the connection that its list would wait for.
      await connection.ready({ signal });
      await connection.listTools({ ...options, signal, refresh });
    });
    const cancelled = (cause: unknown): RuntimeError =>
      new RuntimeError('CANCELLED', 'Waiting for the lists of tools was cancelled', { cause });
    const { clock } = this.#host;
    const overdue = ({ resolve }: WaitHandle<void>): void => resolve();
    await waitFor<void>(
      { clock, timeoutMs, signal: options.signal, onTimeout: overdue, abortError: cancelled },
      ({ resolve }) => {
        void Promise.allSettled(lists).then(() => resolve());
        return () => enough.abort();
      },
    );
    return this.tools;
  }

  async callTool(
    name: string,
    args?: JsonObject,
    options: HostRequestOptions = {},
  ): Promise<CallToolResult> {
    const owner = this.#search.ownerNow(name) ?? (await this.#ownerIn(name, options));
    const connection = await this.use(owner.server);
    const call = connection.callTool(owner.tool, args, options);
    if (owner.listed) return call;
    // The tool list of the server was unknown: it now decides the meaning of a failure.
    const failed = await call.then(
      ({ isError }) => isError === true,
      (error: unknown) => error instanceof ProtocolError && error.code === ErrorCode.invalidParams,
    );
    if (failed && (await this.#isUnlisted(owner, connection, options))) throw this.#refusal(name);
    return call;
  }

  /** True if the server's complete list, once available, lacks the tool. */
  async #isUnlisted(
    { server, tool }: FoundTool,
    connection: Connection,
    options: HostRequestOptions,
  ): Promise<boolean> {
    // A failing list decides nothing, and the call's own failure is reported.
    const listed = await connection.listTools(options).catch(() => undefined);
    const { state, reason } = this.#slots.get(server)?.list ?? {};
    const isWhole = state === 'known' && reason === undefined;
    return isWhole && listed?.every(({ name }) => name !== tool) === true;
  }

  /** @throws {ProtocolError} the tool does not exist */
  async #ownerIn(name: string, options: HostRequestOptions): Promise<FoundTool> {
    const owner = await this.#search.owner(name, options);
    if (owner) return owner;
    throw this.#refusal(name);
  }

  findTools(name: string, options: HostRequestOptions = {}): Promise<readonly FoundTool[]> {
    return this.#search.named(name, options);
  }

  /** The error for an unknown tool name. */
  #refusal(name: string): Error {
    const owner = splitName(name)?.server;
    const isKept = owner !== undefined && this.#config.servers.has(owner);
    if (isKept && !this.#slots.has(owner)) return this.#unusable(owner);
    const near = closestMatch(name, [...this.#merged().keys()]);
    const advice = near === undefined ? '' : `. Did you mean ${near}?`;
    const unheard = [...this.#slots.values()]
      .filter((slot) => mayBeNamed(slot.name, name) && slot.list.state === 'failed')
      .map((slot) => `. The tools of ${slot.name} are unavailable: ${slot.list.reason}`);
    return invalidParams(`There is no tool ${quoted(name)}${advice}${unheard.join('')}`);
  }

  /** Applies the changes of a new configuration. */
  apply(config: HostsConfig): void {
    if (this.#closed) return;
    const changes = changesBetween(this.#config, config);
    this.#config = config;
    const ends = new Map(
      [...changes.removed, ...changes.changed].map((name) => {
        const ended = this.#slots.get(name)?.close();
        this.#slots.delete(name);
        return [name, ended];
      }),
    );
    for (const [name, server] of config.servers) {
      if (changes.adjusted.includes(name) && server.kind === 'enabled') {
        this.#slots.get(name)?.adjust(server.settings);
      } else if (changes.added.includes(name) || changes.changed.includes(name)) {
        this.#add(name, server, ends.get(name));
      }
    }
    const { faults, remarks } = config;
    this.#feed.happened({ type: 'config', changes, faults, remarks });
    this.#changed();
  }

  /** Emits that a configuration is unusable. */
  refused(error: Error): void {
    this.#feed.happened({ type: 'config-failed', error });
  }

  #add(name: string, server: HostedServer, after: Promise<void> = Promise.resolve()): void {
    if (server.kind !== 'enabled') return;
    const slot = new ManagedServer(name, server.settings, this.#host, after);
    this.#slots.set(name, slot);
    if (!server.settings.lazy) this.#start(slot);
  }

  /** Only processes take a start slot: an HTTP request costs this machine next to nothing. */
  #start(slot: ManagedServer): void {
    if (!('command' in slot.settings.entry)) {
      void slot.use().catch(() => {});
      return;
    }
    void this.#turns.run(() => this.#begun(slot));
  }

  /** Starts a server. Resolves once it is ready, has failed, or has held its slot long enough. */
  #begun(slot: ManagedServer): Promise<void> {
    const { clock } = this.#host;
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, placeMs);
      const done = (): void => {
        clock.clearTimeout(timer);
        resolve();
      };
      slot
        .use()
        .then((connection) => connection.ready())
        .then(done, done);
    });
  }

  #optionsFor(name: string, options: ManagedOptions): ConnectionOptions {
    const own = this.#ownOptions.get(name) ?? options.forServer?.(name);
    this.#ownOptions.delete(name);
    const wanted = { ...options, ...own };
    const { watchers } = wanted;
    if (!watchers) return wanted;
    const shown = this.#slots.get(name)?.chart.shownTo(watchers, this.#unconnected.take(name));
    return { ...wanted, watchers: shown ?? watchers };
  }

  #connections(): readonly Connection[] {
    return [...this.#slots.values()].flatMap(({ connection }) => connection ?? []);
  }

  /** Changes in the same turn are reported as one. */
  #changed(): void {
    this.#mergedNow = undefined;
    onceAtTurnEnd(this.#tellChange);
  }

  readonly #tellChange = (): void => {
    if (this.#closed) return;
    const { status } = this;
    this.#settleStart();
    this.#unconnected.show(new Map([...status].filter(([name]) => !this.get(name))));
    this.#feed.tell(this.tools);
    this.#search.changed();
  };

  #merged(): ReadonlyMap<string, MergedTool> {
    return (this.#mergedNow ??= this.#merge());
  }

  #merge(): ReadonlyMap<string, MergedTool> {
    const owned = [...this.#slots.values()].flatMap(({ name: server, tools }) =>
      tools.items.map((item) => ({ item, server, tool: item.name, cachedAt: tools.cachedAt })),
    );
    const named = [...mergeTools(owned)].map(([name, { item, ...whose }]): [string, Listed] => [
      name,
      { ...item, ...whose, name },
    ]);
    return new Map(named);
  }

  /** Registers a callback for the manager's end. */
  atEnd(end: () => void): void {
    this.#ends.push(end);
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    for (const end of this.#ends) end();
    this.#search.end();
    await Promise.all([...this.#slots.values()].map((slot) => slot.close()));
    this.#settleStart();
    this.#unconnected.end();
    this.#feed.complete();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** True for a server that is not ready but may become so. */
function isUnderway(state: ServerStatus['state']): boolean {
  return ['connecting', 'lost', 'backoff'].includes(state);
}
