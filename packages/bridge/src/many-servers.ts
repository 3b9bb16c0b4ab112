/**
 * The servers of a configuration behind one bridge, for all its clients. A file is watched: what is
 * added, removed or changed in it begins, ends or begins anew for every client, and nothing else.
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

/** How a configuration is bridged. */
export interface ManyServersOptions extends Omit<MergingOptions, 'clock' | 'note' | 'report'> {
  readonly clock: Clock | undefined;
  readonly report: Report | undefined;
  readonly environment: ReadHostsOptions['environment'];
  /** The one of its servers that is bridged; all of them if undefined. */
  readonly only: string | undefined;
  /** Whether a file is read again when it changes. */
  readonly watch: boolean;
  /** Gets each configuration that is used from now on. */
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
  /** Files are read one after the other: a slow read must not replace a newer one. */
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
   * The servers as one client has them. Resolves once those are there that are not late.
   *
   * @throws why the only one cannot be used
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
      throw configInvalid([{ file, server: only, message: 'it is not there any more' }]);
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

  /** Ends what outlives the clients. No client is connected, and none will be. */
  async close(): Promise<void> {
    await Promise.all([...this.#named.values()].map(({ entry }) => entry.close()));
  }

  #gone(client: MergedUpstream | OneUpstream): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** While there are clients. What has changed without any is seen with the next. */
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
    const message = `The servers stay as they are: ${textOfError(error instanceof Error ? error.message : error)}`;
    this.#report({ level: 'warning', name: 'bridge.config-failed', message });
  }

  #apply(read: HostsConfig): void {
    const config = this.#bridgedOf(read);
    const changes = changesBetween(this.#config, config);
    const { added, removed } = changes;
    // The filter of an only server is in its policies.
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
    const message = `The file of servers has changed: ${wordsOf({ added, removed, changed, adjusted })}`;
    this.#report({ level: 'info', name: 'bridge.configured', message });
  }

  /** Every client has the new servers. Those that have ended keep nothing. */
  async #replace(
    all: readonly Named[],
    ended: ReadonlySet<string>,
    begun: ReadonlySet<string>,
    before: ReadonlyMap<string, Named>,
  ): Promise<void> {
    const clients = [...this.#clients].map((client) => client.apply(all, ended, begun));
    this.#reportRejected(
      'A client has not all of the new servers',
      await Promise.allSettled(clients),
    );
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
