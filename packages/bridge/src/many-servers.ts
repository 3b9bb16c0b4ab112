/**
 * The servers of a configuration behind one bridge, for all its clients. Watches the file: servers that are added,
 * removed or changed in it are started, stopped or restarted for every client.
 */
import { systemClock } from '../../../src/actors/clock.ts';
import type { Clock } from '../../../src/actors/clock.ts';
import { changesBetween } from '../../client/src/hosts/config-changes.ts';
import { configInvalid } from '../../client/src/hosts/config-problem.ts';
import { rereadHostsFile, watchFile } from '../../client/src/hosts/hosts-file.ts';
import type { HostsConfig, ReadHostsOptions } from '../../client/src/hosts/hosts-file.ts';
import type { ServerSettings } from '../../client/src/hosts/server-entry.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import type { UpstreamClient } from '../../../src/server/define/upstream.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import type { BridgedEntry } from './bridged-entry.ts';
import type { NamedEntry } from './managed-server.actor.ts';
import { MergedUpstream } from './merged-upstream.ts';
import type { MergingOptions } from './merged-upstream.ts';
import { OneUpstream } from './one-upstream.ts';
import { reportServers } from './servers-resource.ts';

/** Options of a bridged configuration. */
export interface ManyServersOptions extends Omit<MergingOptions, 'clock' | 'note' | 'report'> {
  readonly clock: Clock | undefined;
  readonly report: Report | undefined;
  readonly environment: ReadHostsOptions['environment'];
  /** Name of the only server to bridge. Default: all servers. */
  readonly only: string | undefined;
  /** Reloads the file when it changes. */
  readonly watch: boolean;
  /** Receives each configuration when it takes effect. */
  readonly applied: (config: HostsConfig) => void;
  readonly entryOf: (name: string, settings: ServerSettings) => BridgedEntry;
}

type Named = NamedEntry & { readonly entry: BridgedEntry };

export class ManyServers {
  readonly #options: ManyServersOptions;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #clients = new Set<MergedUpstream | OneUpstream>();
  #config: HostsConfig;
  #named: ReadonlyMap<string, Named>;
  /** Reads are sequential, so a slow read cannot replace a newer one. */
  #reading: Promise<void> = Promise.resolve();
  #unwatch: (() => void) | undefined = undefined;

  constructor(config: HostsConfig, options: ManyServersOptions) {
    const { clock = systemClock, report = defaultReport } = options;
    this.#options = options;
    this.#clock = clock;
    this.#report = report;
    this.#config = this.#bridgedOf(config);
    this.#named = this.#entriesOf(this.#config, new Map());
    options.applied(config);
  }

  /**
   * Opens the servers for one client. Resolves once all but the late servers are ready.
   *
   * @throws the error of the server, if there is only one
   */
  async open(client: UpstreamClient): Promise<MergedUpstream | OneUpstream> {
    this.#watch();
    const made = this.#made(client);
    this.#clients.add(made);
    client.signal.addEventListener('abort', () => this.#gone(made), { once: true });
    return made.start();
  }

  #made(client: UpstreamClient): MergedUpstream | OneUpstream {
    const { only } = this.#options;
    if (only !== undefined) {
      const named = this.#named.get(only);
      if (named) return new OneUpstream(client, named, { clock: this.#clock, note: this.#report });
      const { file } = this.#config;
      throw configInvalid([{ file, server: only, message: 'the server was removed' }]);
    }
    return new MergedUpstream(client, [...this.#named.values()], {
      ...this.#options,
      clock: this.#clock,
      note: this.#report,
      report: ({ servers }) => reportServers(this.#config.servers, servers, this.#clock),
    });
  }

  #bridgedOf(config: HostsConfig): HostsConfig {
    const { only } = this.#options;
    if (only === undefined) return config;
    const servers = [...config.servers].filter(([name]) => name === only);
    return { ...config, servers: new Map(servers) };
  }

  /** Ends shared processes. Call it after the last client has disconnected. */
  async close(): Promise<void> {
    await Promise.all([...this.#named.values()].map(({ entry }) => entry.close()));
  }

  #gone(client: MergedUpstream | OneUpstream): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** Watches the file while clients are connected. The next client triggers a reload of changes missed meanwhile. */
  #watch(): void {
    const { file } = this.#config;
    if (file === undefined || !this.#options.watch || this.#unwatch) return;
    const changed = () => {
      this.#reading = this.#reading.then(() => this.#read(file));
    };
    this.#unwatch = watchFile(file, {
      clock: this.#clock,
      changed,
      failed: (error) => this.#refused(error),
    });
    changed();
  }

  async #read(file: string): Promise<void> {
    const { environment } = this.#options;
    try {
      const config = await rereadHostsFile(file, environment ? { environment } : {});
      if (config.faults.length > 0) throw configInvalid(config.faults);
      this.#apply(config);
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error: unknown): void {
    const message = `Kept the previous servers: ${textOfError(error instanceof Error ? error.message : error)}`;
    this.#report({ level: 'warning', name: 'bridge.config-failed', message });
  }

  #apply(read: HostsConfig): void {
    const config = this.#bridgedOf(read);
    const changes = changesBetween(this.#config, config);
    const { added, removed } = changes;
    // A single server filters tools by its policies, so a changed filter needs a new connection.
    const isOnly = this.#options.only !== undefined;
    const changed = isOnly ? [...changes.changed, ...changes.adjusted] : changes.changed;
    const adjusted = isOnly ? [] : changes.adjusted;
    const before = this.#named;
    this.#config = config;
    if (added.length + removed.length + changed.length + adjusted.length === 0) return;
    const kept = new Map([...before].filter(([name]) => !changed.includes(name)));
    this.#named = this.#entriesOf(config, kept);
    this.#options.applied(read);
    const ended = new Set([...removed, ...changed]);
    const begun = new Set([...added, ...changed]);
    const all = [...this.#named.values()];
    void this.#replace(all, ended, begun, before);
    const message = `Servers file changed: ${wordsOf({ added, removed, changed, adjusted })}`;
    this.#report({ level: 'info', name: 'bridge.configured', message });
  }

  /** Applies the new servers to every client, then closes the removed ones. */
  async #replace(
    all: readonly Named[],
    ended: ReadonlySet<string>,
    begun: ReadonlySet<string>,
    before: ReadonlyMap<string, Named>,
  ): Promise<void> {
    const clients = [...this.#clients].map((client) => client.apply(all, ended, begun));
    this.#reportRejected('A client did not get all new servers', await Promise.allSettled(clients));
    const gone = [...ended].flatMap((name) => before.get(name) ?? []);
    const closed = await Promise.allSettled(gone.map(({ entry }) => entry.close()));
    this.#reportRejected('A removed server was not closed', closed);
  }

  #reportRejected(what: string, results: readonly PromiseSettledResult<unknown>[]): void {
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      const message = `${what}: ${textOfError(result.reason)}`;
      this.#report({ level: 'warning', name: 'bridge.config-failed', message });
    }
  }

  #entriesOf(
    { servers }: HostsConfig,
    kept: ReadonlyMap<string, Named>,
  ): ReadonlyMap<string, Named> {
    return new Map(
      [...servers].flatMap(([name, server]): [string, Named][] => {
        if (server.kind !== 'enabled') return [];
        const { settings } = server;
        const entry = kept.get(name)?.entry ?? this.#options.entryOf(name, settings);
        return [[name, { name, entry, tools: settings.tools }]];
      }),
    );
  }
}

function wordsOf(changes: { readonly [what: string]: readonly string[] }): string {
  return Object.entries(changes)
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.join(', ')}`)
    .join('; ');
}
