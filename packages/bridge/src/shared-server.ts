/**
 * A launched server that several clients of a bridge share: one process, one connection.
 *
 * Messages over stdio do not name a client. A client gets only what certainly belongs to it: answers to its requests,
 * their progress, and updates of resources it watches. The server's questions are rejected, and its log messages dropped.
 *
 * @see docs/maintaining/decisions/23-many-servers-one-bridge.md
 */
import type { Clock } from '../../../src/actors/clock.ts';
import { connect } from '../../client/src/connect.ts';
import type { ConnectOptions } from '../../client/src/connect-options.ts';
import type { ConnectionState } from '../../client/src/connection/connection-streams.observable.ts';
import type { Connection } from '../../client/src/connection/connection.ts';
import type { ServerEntry } from '../../client/src/connection/options.ts';
import { upstreamChart } from './upstream.machine.ts';
import type { UpstreamEvent } from './upstream.machine.ts';
import { ErrorCode, ProtocolError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { unsubscriptionFailed } from './bridge-faults.ts';

/** Callbacks of a client that shares a server. */
export interface SharingClient {
  onNotification(method: string, params: JsonObject | undefined): void;
  /** Receives each state of the connection, beginning with the current one. */
  onState(state: ConnectionState): void;
}

/** A client's lease of a shared server. */
export interface SharedLease {
  /** Subscribes the client to a resource. @throws the server's error */
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
  /** Number of resources that the client watches. */
  readonly watched: number;
  /** Ends the lease and its subscriptions. */
  release(): void;
}

/** Options of a shared server. */
export interface SharingOptions {
  readonly entry: ServerEntry;
  readonly connecting: ConnectOptions;
  /** Removes secrets from an error. */
  readonly hide: (error: unknown) => unknown;
  readonly clock: Clock;
  /** Time for which a process without clients is kept, milliseconds. */
  readonly processIdleMs: number;
  /** Claims a process slot before a start. The result releases the slot. @throws if all slots are in use */
  readonly claim: () => Promise<() => void>;
  readonly onStderr: ((text: string) => void) | undefined;
}

/** List changes, which concern all clients. */
const ofAll: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
]);

export class SharedServer {
  readonly #options: SharingOptions;
  readonly #opened: Promise<Connection>;
  readonly #abort = new AbortController();
  readonly #onRetired: () => void;
  /** Clients with the URIs that each watches. */
  readonly #clients = new Map<SharingClient, Set<string>>();
  #state = upstreamChart.initial;
  #timer: unknown;

  /** @param gone called once, when the server accepts no more clients */
  constructor(options: SharingOptions, gone: () => void) {
    this.#options = options;
    this.#onRetired = gone;
    this.#opened = this.#open();
    this.#opened.then(
      (connection) => this.#ready(connection),
      () => {
        // The waiting clients get the error.
        this.#move('upstream.failed');
        gone();
      },
    );
  }

  async #open(): Promise<Connection> {
    const { entry, connecting, claim } = this.#options;
    const release = await claim();
    try {
      const connection = await connect(entry, {
        ...connecting,
        signal: this.#abort.signal,
        listens: 'ready',
        capabilities: {},
        onRequest: (method) => Promise.reject(this.#refusal(method)),
        onNotification: (method, params) => this.#onNotification(method, params),
      });
      connection.state$.subscribe({ complete: release });
      return connection;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Number of clients. */
  get clients(): number {
    return this.#clients.size;
  }

  /**
   * Adds a client, once the server is ready.
   *
   * @param signal ends the lease
   * @throws {RuntimeError} as `connect`
   */
  async join(client: SharingClient, signal: AbortSignal): Promise<[Connection, SharedLease]> {
    const { clock } = this.#options;
    clock.clearTimeout(this.#timer);
    this.#clients.set(client, new Set());
    this.#move('requests.begun');
    const leave = () => this.#leave(client);
    signal.addEventListener('abort', leave, { once: true });
    try {
      const connection = await this.#opened;
      const watching = connection.state$.subscribe((state) => client.onState(state));
      const uris = this.#clients.get(client);
      const lease: SharedLease = {
        watch: (uri) => this.#watch(connection, client, uri),
        unwatch: (uri) => this.#unwatch(client, uri),
        get watched() {
          return uris?.size ?? 0;
        },
        release: () => {
          watching.unsubscribe();
          signal.removeEventListener('abort', leave);
          leave();
        },
      };
      return [connection, lease];
    } catch (error) {
      this.#clients.delete(client);
      throw error;
    }
  }

  /** Closes the server, even if clients share it. */
  async close(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    this.#onRetired();
    this.#move('upstream.close');
    this.#abort.abort(new Error('The shared server was closed'));
    await this.#opened.then(
      (connection) => connection.close(),
      () => {},
    );
    this.#move('upstream.closed');
  }

  #ready(connection: Connection): void {
    this.#move('upstream.opened');
    const { onStderr } = this.#options;
    connection.events$.subscribe((event) => {
      if (event.type === 'stderr') onStderr?.(event.text);
      // A failed connection is not restarted: later clients get a new process.
      if (event.type === 'state' && event.state.value === 'failed') this.#onRetired();
    });
    this.#checkIdle();
  }

  #leave(client: SharingClient): void {
    const uris = this.#clients.get(client);
    if (!uris) return;
    const { connecting, hide } = this.#options;
    const { report = defaultReport } = connecting;
    for (const uri of uris) {
      this.#unwatch(client, uri).catch((error: unknown) =>
        report(unsubscriptionFailed(uri, hide(error))),
      );
    }
    this.#clients.delete(client);
    this.#checkIdle();
  }

  /** Starts the idle timeout if all clients have left. */
  #checkIdle(): void {
    if (this.#clients.size > 0) return;
    if (this.#state.value === 'opening') return void this.close();
    this.#move('requests.settled');
    if (this.#state.value !== 'idle') return;
    const { clock, processIdleMs } = this.#options;
    this.#timer = clock.setTimeout(() => void this.close(), processIdleMs);
  }

  #move(type: UpstreamEvent['type']): void {
    this.#state = upstreamChart.next(this.#state, { type });
  }

  #refusal(method: string): ProtocolError {
    const message = `${printableName(method)} was rejected: a shared process cannot ask, because its request names no client. Use "share": "session"`;
    return new ProtocolError(ErrorCode.methodNotFound, message, { reason: 'shared-process' });
  }

  #onNotification(method: string, params: JsonObject | undefined): void {
    const uri = params?.['uri'];
    const isUpdate = method === Method.resourceUpdated && typeof uri === 'string';
    if (!isUpdate && !ofAll.has(method)) return;
    for (const [client, uris] of this.#clients) {
      if (!isUpdate || uris.has(uri)) client.onNotification(method, params);
    }
  }

  #isWatched(uri: string): boolean {
    return [...this.#clients.values()].some((uris) => uris.has(uri));
  }

  async #watch(connection: Connection, client: SharingClient, uri: string): Promise<void> {
    const uris = this.#clients.get(client);
    if (!uris || uris.has(uri)) return;
    const isFirst = !this.#isWatched(uri);
    uris.add(uri);
    try {
      if (isFirst) await connection.subscribe(uri);
    } catch (error) {
      uris.delete(uri);
      throw error;
    }
  }

  async #unwatch(client: SharingClient, uri: string): Promise<void> {
    const isWatched = this.#clients.get(client)?.delete(uri) === true;
    if (!isWatched || this.#isWatched(uri)) return;
    await (await this.#opened).unsubscribe(uri);
  }
}

/** A pool of shared processes of one server. */
export class SharedServers {
  readonly #options: SharingOptions;
  /** Maximum number of processes. */
  readonly #max: number;
  readonly #servers = new Set<SharedServer>();

  constructor(options: SharingOptions, max: number) {
    this.#options = options;
    this.#max = max;
  }

  /** Adds a client to the process with the fewest clients. Errors as {@link SharedServer.join}. */
  join(client: SharingClient, signal: AbortSignal): Promise<[Connection, SharedLease]> {
    return this.#pickServer().join(client, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers].map((server) => server.close()));
  }

  #pickServer(): SharedServer {
    const [least] = [...this.#servers].toSorted((one, other) => one.clients - other.clients);
    const isRoom = this.#servers.size < this.#max;
    if (least && (least.clients === 0 || !isRoom)) return least;
    const made: SharedServer = new SharedServer(this.#options, () => this.#servers.delete(made));
    this.#servers.add(made);
    return made;
  }
}
