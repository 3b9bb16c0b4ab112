/**
 * The place of one server among many: its connection while there is one, and its tools while there
 * is none.
 */
import { errorOf } from '../../machines/connection-failures.ts';
import type { Clock } from '../../actors/clock.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import { quoted } from '../../protocol/printable.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListReport, ListStanding } from '../lists/offered.ts';
import type { ListedTool } from '../../protocol/listed.ts';
import type { ConnectOptions } from '../connection/options.ts';
import { isAllowed } from './server-entry.ts';
import type { ServerSettings } from './server-entry.ts';
import type { ServerStatus } from './server-reports.ts';
import type { ConnectionMaker } from './servers.ts';
import type { CachedTools, ToolsCache, ToolsOwner } from './tools-cache.ts';

/** What slots need of their manager. */
export interface SlotHost {
  readonly open: ConnectionMaker['open'];
  readonly cache: ToolsCache | undefined;
  readonly clock: Clock;
  /** The time of day, ISO 8601. */
  now(): string;
  optionsFor(name: string): ConnectOptions;
  /** See {@link ConnectionMaker}. */
  callerOf(name: string, entry: ServerSettings['entry']): string | undefined;
  opened(connection: Connection): void;
  /** Its server has said what tools it has, or is asked for them. */
  reported(server: string, report: ListReport<ListedTool>): void;
  /** Its tools, or where it stands, are others now. */
  changed(): void;
}

type Phase =
  /** Nothing runs; `ended` is the end of what ran before. `waiting`: it is to be started soon. */
  | { readonly kind: 'idle' | 'waiting'; readonly ended: Promise<void> }
  /** It is opened when what ran before has ended. */
  | {
      readonly kind: 'opening';
      readonly ended: Promise<void>;
      readonly connection: Promise<Connection>;
    }
  | { readonly kind: 'open'; readonly connection: Connection; release(): void }
  /** It could not even be tried. */
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'closed'; readonly ended: Promise<void> };

/** Tools as a slot knows them. */
export interface SlotTools {
  readonly items: readonly ListedTool[];
  readonly cachedAt: string | undefined;
}

const noTools: SlotTools = { items: [], cachedAt: undefined };
const unasked: ListStanding = { state: 'asking' };

export class ServerSlot {
  readonly name: string;
  #settings: ServerSettings;
  #phase: Phase;
  /** What the server itself said last. */
  #report: ListReport<ListedTool> | undefined;
  #cached: CachedTools | undefined;
  /** Whose tools are kept on disk; undefined: they are not. */
  readonly #owner: ToolsOwner | undefined;
  #launchesBefore = 0;
  readonly #host: SlotHost;

  /** @param after the end of the server that had this name before */
  constructor(name: string, settings: ServerSettings, host: SlotHost, after: Promise<void>) {
    this.name = name;
    this.#settings = settings;
    this.#host = host;
    this.#phase = { kind: settings.lazy ? 'idle' : 'waiting', ended: after };
    const { entry } = settings;
    const caller = host.callerOf(name, entry);
    this.#owner = caller === undefined ? undefined : { entry, caller };
    if (this.#owner === undefined) return;
    void host.cache?.read(this.#owner).then((cached) => {
      this.#cached = cached;
      if (cached !== undefined) host.changed();
    });
  }

  get settings(): ServerSettings {
    return this.#settings;
  }

  /** Takes settings that ask for no other connection. */
  adjust(settings: ServerSettings): void {
    this.#settings = settings;
    this.#host.changed();
  }

  get connection(): Connection | undefined {
    return this.#phase.kind === 'open' ? this.#phase.connection : undefined;
  }

  get status(): ServerStatus {
    return { ...this.#standing, tools: this.list };
  }

  /** Where its own list of tools stands. */
  get list(): ListStanding {
    const { state: server, error } = this.#standing;
    if (server === 'failed') return { state: 'failed', ...(error && { reason: error.message }) };
    const { state, reason } = this.#report ?? unasked;
    return { state, ...(reason === undefined ? {} : { reason }) };
  }

  get #standing(): Omit<ServerStatus, 'tools'> {
    const phase = this.#phase;
    const launches = this.#launchesBefore;
    switch (phase.kind) {
      case 'idle':
        return { state: 'idle', launches };
      case 'waiting':
      case 'opening':
        return { state: 'connecting', launches };
      case 'refused':
        return { state: 'failed', error: phase.error, launches };
      case 'open': {
        const { state, launches: more } = phase.connection;
        const { value, loss } = state;
        const isWithout = value !== 'ready' && loss !== undefined;
        return {
          state: value,
          launches: launches + more,
          ...(isWithout ? { error: errorOf(loss) } : {}),
        };
      }
      case 'closed':
        return { state: 'closed', launches };
    }
  }

  /** What of its tools may be in the merged list: what a server that has failed had is gone. */
  get tools(): SlotTools {
    const { items, cachedAt } = this.#known();
    return { items: items.filter(({ name }) => isAllowed(name, this.#settings.tools)), cachedAt };
  }

  /** Whether its list is known, from itself or from before. */
  get isListed(): boolean {
    return this.#cached !== undefined || this.list.state !== 'asking';
  }

  /** Whether its own list is still to come, and may say more than what is known. */
  get isListDue(): boolean {
    const { state } = this.#standing;
    if (state === 'idle' || state === 'closed') return !this.isListed;
    return ['asking', 'stale'].includes(this.list.state);
  }

  #known(): SlotTools {
    if (this.#standing.state === 'failed') return noTools;
    const report = this.#report;
    const isGiven = report?.state !== 'asking' && report?.state !== 'failed';
    if (report !== undefined && (isGiven || report.items.length > 0)) {
      return { items: report.items, cachedAt: undefined };
    }
    const cached = this.#cached;
    return cached === undefined
      ? noTools
      : { items: cached.tools as readonly ListedTool[], cachedAt: cached.date };
  }

  /** The connection; the server is started if it is idle, or if its host has closed the connection. */
  use(): Promise<Connection> {
    const phase = this.#phase;
    switch (phase.kind) {
      case 'open':
        if (!isEnded(phase.connection)) return Promise.resolve(phase.connection);
        this.#sleep();
        return this.use();
      case 'opening':
        return phase.connection;
      case 'refused':
        return Promise.reject(phase.error);
      case 'idle':
      case 'waiting': {
        const { ended } = phase;
        const connection = ended.then(() => this.#open());
        this.#phase = { kind: 'opening', ended, connection };
        this.#host.changed();
        return connection;
      }
      case 'closed':
        return Promise.reject(this.#closedError());
    }
  }

  #closedError(): RuntimeError {
    return new RuntimeError('NOT_READY', `The connection to ${quoted(this.name)} is closed`);
  }

  #open(): Connection {
    const { name } = this;
    if (this.#phase.kind === 'closed') throw this.#closedError();
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
      this.#phase = { kind: 'open', connection, release: this.#follow(connection) };
      this.#host.opened(connection);
      return connection;
    } catch (error) {
      this.#phase = { kind: 'refused', error: error as Error };
      throw error;
    } finally {
      this.#host.changed();
    }
  }

  /** Listens to a connection until what it gives is called. */
  #follow(connection: Connection): () => void {
    const subscription = connection.tools$.subscribe((report) => this.#reported(report));
    subscription.add(connection.state$.subscribe(() => this.#host.changed()));
    const { clock } = this.#host;
    let usedAt = clock.now();
    // Only who may be stopped is listened to: it costs a little with each message.
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
      void cache.write(this.#owner, this.#cached);
    }
    changed();
  }

  #sleep(): void {
    this.#phase = { kind: 'idle', ended: this.#end() };
    this.#host.changed();
  }

  /** Ends it for good. Resolves when nothing of it is left. */
  close(): Promise<void> {
    const ended = this.#end();
    this.#phase = { kind: 'closed', ended };
    this.#host.changed();
    return ended;
  }

  #end(): Promise<void> {
    const phase = this.#phase;
    if (phase.kind === 'refused') return Promise.resolve();
    if (phase.kind !== 'open') return phase.ended;
    const { connection, release } = phase;
    this.#launchesBefore += connection.launches;
    release();
    return connection.close();
  }
}

const isEnded = ({ state }: Connection): boolean =>
  state.value === 'closing' || state.value === 'closed';
