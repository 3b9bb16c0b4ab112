/**
 * One server among many: its connection, and its tools even without one. Its chart holds the state.
 */
import { disconnectError } from '../../../../src/protocol/disconnects.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListReport, ListState } from '../lists/list-results.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import type { ConnectionOptions } from '../connection/options.ts';
import { isAllowed } from './tool-policies.ts';
import { SlotChart } from './slot-chart.ts';
import type { ServerSettings } from './server-entry.ts';
import type { ServerStatus } from './server-reports.ts';
import type { ConnectionMaker } from './servers.ts';
import type { CachedTools, ToolsCache, ToolsOwner } from './tools-cache.ts';

/** Dependencies of slots on their manager. */
export interface SlotHost {
  readonly open: ConnectionMaker['open'];
  readonly cache: ToolsCache | undefined;
  readonly clock: Clock;
  readonly report: Report;
  /** Wall-clock time, ISO 8601. */
  now(): string;
  optionsFor(name: string): ConnectionOptions;
  /** See {@link ConnectionMaker}. */
  callerOf(name: string, entry: ServerSettings['entry']): string | undefined;
  opened(connection: Connection): void;
  /** The server has listed its tools, or is being asked for them. */
  reported(server: string, report: ListReport<ListedTool>): void;
  /** The tools or the status of the server changed. */
  changed(): void;
}

/** Known tools of a slot. */
export interface SlotTools {
  readonly items: readonly ListedTool[];
  readonly cachedAt: string | undefined;
}

const noTools: SlotTools = { items: [], cachedAt: undefined };
const unasked: ListState = { state: 'asking' };

export class ManagedServer {
  readonly name: string;
  readonly chart: SlotChart;
  #settings: ServerSettings;
  /** Resolves when the previous connection has ended. */
  #ended: Promise<void>;
  /** Connection opened by the last use, or its error. */
  #used: Promise<Connection> | undefined;
  /** Set while the chart is `open`. */
  #opened: { readonly connection: Connection; release(): void } | undefined;
  /** The server's own last report. */
  #report: ListReport<ListedTool> | undefined;
  #cached: CachedTools | undefined;
  /** Resolves when the last list has been cached. */
  #written: Promise<unknown> = Promise.resolve();
  /** Cache key of its tools; undefined if they are not cached. */
  readonly #owner: ToolsOwner | undefined;
  #launchesBefore = 0;
  readonly #host: SlotHost;

  /** @param after resolves when the previous server of this name has ended */
  constructor(name: string, settings: ServerSettings, host: SlotHost, after: Promise<void>) {
    this.name = name;
    this.#settings = settings;
    this.#host = host;
    this.#ended = after;
    this.chart = new SlotChart(settings.lazy ? 'idle' : 'waiting', host.report);
    const { entry } = settings;
    const caller = host.callerOf(name, entry);
    this.#owner = caller === undefined ? undefined : { entry, caller };
    if (this.#owner === undefined) return;
    void host.cache?.read(this.#owner).then((cached) => {
      this.#cached = cached;
      host.changed();
    });
  }

  get settings(): ServerSettings {
    return this.#settings;
  }

  /** Applies settings that do not need a new connection. */
  adjust(settings: ServerSettings): void {
    this.#settings = settings;
  }

  get connection(): Connection | undefined {
    return this.#opened?.connection;
  }

  get status(): ServerStatus {
    return { ...this.#standing, tools: this.list };
  }

  /** State of the server's own tool list. */
  get list(): ListState {
    const { state: server, error } = this.#standing;
    if (server === 'failed') return { state: 'failed', ...(error && { reason: error.message }) };
    const { state, reason } = this.#report ?? unasked;
    return { state, ...(reason === undefined ? {} : { reason }) };
  }

  get #standing(): Omit<ServerStatus, 'tools'> {
    const launches = this.#launchesBefore;
    if (this.#opened) {
      const { state, launches: more } = this.#opened.connection;
      const { value, loss } = state;
      const isWithout = value !== 'ready' && loss !== undefined;
      return {
        state: value,
        launches: launches + more,
        ...(isWithout ? { error: disconnectError(loss) } : {}),
      };
    }
    const { state, error } = this.chart;
    return { state: shownAs[state], launches, ...(error ? { error } : {}) };
  }

  /** Tools for the merged list; empty for a failed server. */
  get tools(): SlotTools {
    const { items, cachedAt } = this.#known();
    return { items: items.filter(({ name }) => isAllowed(name, this.#settings.tools)), cachedAt };
  }

  /** True if the list is known, from the server or the cache. */
  get isListed(): boolean {
    return this.#cached !== undefined || this.list.state !== 'asking';
  }

  /** True if the server's own list is pending and may add tools. */
  get isListDue(): boolean {
    const { state } = this.#standing;
    if (state === 'idle' || state === 'closed') return !this.isListed;
    return ['asking', 'stale'].includes(this.list.state);
  }

  #known(): SlotTools {
    if (this.#standing.state === 'failed') return noTools;
    const report = this.#report;
    if (report !== undefined && report.state !== 'asking' && report.state !== 'failed') {
      return { items: report.items, cachedAt: undefined };
    }
    const cached = this.#cached;
    return cached === undefined
      ? noTools
      : { items: cached.tools as readonly ListedTool[], cachedAt: cached.date };
  }

  /** The connection. Starts the server if it is idle, or if the host closed the connection. */
  use(): Promise<Connection> {
    if (this.chart.state === 'closed') return Promise.reject(this.#closedError());
    if (this.#opened && isEnded(this.#opened.connection)) this.#sleep();
    if (this.chart.state === 'idle' || this.chart.state === 'waiting') {
      this.#used = this.#ended.then(() => this.#open());
      this.chart.send({ type: 'server.use' });
      this.#host.changed();
    }
    return this.#used ?? Promise.reject(this.#closedError());
  }

  #closedError(): RuntimeError {
    return new RuntimeError('NOT_READY', `The connection to ${quoted(this.name)} is closed`);
  }

  #open(): Connection {
    const { name } = this;
    if (this.chart.state === 'closed') throw this.#closedError();
    const { entry, timeoutMs, restart, era } = this.#settings;
    try {
      const options = this.#host.optionsFor(name);
      const connection = this.#host.open(entry, {
        ...options,
        name,
        ...(timeoutMs === undefined
          ? {}
          : { limits: { ...options.limits, requestTimeoutMs: timeoutMs } }),
        ...(restart === undefined ? {} : { restart }),
        ...(era === undefined ? {} : { era }),
      });
      this.#opened = { connection, release: this.#follow(connection) };
      this.chart.send({ type: 'connection.opened' });
      this.#host.opened(connection);
      return connection;
    } catch (error) {
      this.chart.send({ type: 'connection.refused', error: error as Error });
      throw error;
    } finally {
      this.#host.changed();
    }
  }

  /** Listens to a connection. Returns a function that stops listening. */
  #follow(connection: Connection): () => void {
    const subscription = connection.tools$.subscribe((report) => this.#reported(report));
    subscription.add(connection.state$.subscribe(() => this.#host.changed()));
    const { clock } = this.#host;
    let usedAt = clock.now();
    // Listening has a cost per message, so only servers with an idle timeout are listened to.
    if (this.#settings.idleMs !== undefined) {
      subscription.add(connection.traffic$.subscribe(() => (usedAt = clock.now())));
    }
    let timer: unknown;
    const look = (): void => {
      const { idleMs } = this.#settings;
      if (idleMs === undefined) return;
      const isBusy = connection.pending > 0 || connection.state.value === 'connecting';
      const quietMs = isBusy ? 0 : clock.now() - usedAt;
      if (quietMs >= idleMs) return this.#sleep();
      timer = clock.setTimeout(look, idleMs - quietMs);
    };
    look();
    return () => {
      clock.clearTimeout(timer);
      subscription.unsubscribe();
    };
  }

  #reported(report: ListReport<ListedTool>): void {
    const { cache, now, changed } = this.#host;
    this.#report = report;
    this.#host.reported(this.name, report);
    if (report.state === 'known' && cache !== undefined && this.#owner !== undefined) {
      this.#cached = { tools: report.items, date: now() };
      this.#written = cache.write(this.#owner, this.#cached);
    }
    changed();
  }

  #sleep(): void {
    this.#endConnection();
    this.chart.send({ type: 'connection.closed' });
    this.#host.changed();
  }

  /**
   * Closes the slot for good. Resolves after cleanup, once its tools are cached for the next run.
   */
  async close(): Promise<void> {
    this.#endConnection();
    this.chart.send({ type: 'server.close' });
    await Promise.all([this.#ended, this.#written]);
  }

  #endConnection(): void {
    if (!this.#opened) return;
    const { connection, release } = this.#opened;
    this.#opened = undefined;
    this.#launchesBefore += connection.launches;
    release();
    this.#ended = connection.close();
  }
}

/** Status of a server without a connection. */
const shownAs = {
  configured: 'connecting',
  disabled: 'disabled',
  faulty: 'failed',
  idle: 'idle',
  waiting: 'connecting',
  opening: 'connecting',
  open: 'connecting',
  refused: 'failed',
  closed: 'closed',
} as const;

const isEnded = ({ state }: Connection): boolean =>
  state.value === 'closing' || state.value === 'closed';
