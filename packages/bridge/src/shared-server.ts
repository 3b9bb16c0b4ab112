/**
 * A launched server that several clients of a bridge share: one process, one connection.
 *
 * Over stdio nothing says for whom a server speaks. So only what certainly belongs to a client gets to
 * it: the answers to its requests, their progress, the changes of what it watches. The server is told of
 * no client in particular: its questions are refused, and its log messages are dropped.
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

/** What a client hears of a server that it shares. */
export interface SharingClient {
  onNotification(method: string, params: JsonObject | undefined): void;
  /** The state of the connection, the present one first. */
  onState(state: ConnectionState): void;
}

/** A client's place at a server that it shares. */
export interface SharedLease {
  /** The client hears of changes of a resource. @throws what the server answers */
  watch(uri: string): Promise<void>;
  unwatch(uri: string): Promise<void>;
  /** How many resources the client watches. */
  readonly watched: number;
  /** Gives up the place, and all that the client watches. */
  release(): void;
}

/** How a server is shared. */
export interface SharingOptions {
  readonly entry: ServerEntry;
  readonly connecting: ConnectOptions;
  /** Removes secrets from an error. */
  readonly hide: (error: unknown) => unknown;
  readonly clock: Clock;
  /** How long a process without a client is kept, milliseconds. */
  readonly processIdleMs: number;
  /** Called before a process is started. What it gives is called once that has ended. @throws if there are too many */
  readonly claim: () => Promise<() => void>;
  readonly onStderr: ((text: string) => void) | undefined;
}

/** The changes that concern all clients. */
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
  /** With the URIs that each watches. */
  readonly #clients = new Map<SharingClient, Set<string>>();
  #state = upstreamChart.initial;
  #timer: unknown;

  /** @param gone called once, when it takes no more clients */
  constructor(options: SharingOptions, gone: () => void) {
    this.#options = options;
    this.#onRetired = gone;
    this.#opened = this.#open();
    this.#opened.then(
      (connection) => this.#ready(connection),
      () => {
        // Its clients get the error.
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

  /** How many share it. */
  get clients(): number {
    return this.#clients.size;
  }

  /**
   * Gives a client a place, once the server is ready.
   *
   * @param signal gives up the place
   * @throws {RuntimeError} why the server is not ready, as `connect`
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

  /** Ends it, even if clients share it. */
  async close(): Promise<void> {
    this.#options.clock.clearTimeout(this.#timer);
    this.#onRetired();
    this.#move('upstream.close');
    this.#abort.abort(new Error('Nobody uses the server any more'));
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
      // It is not started again by itself: those who come get another one.
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

  /** It rests if all clients have left. */
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
    const message = `${printableName(method)} was refused: the process is shared, and nothing says for whose call the server asks. It may ask if each session has a process of its own`;
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

/** The processes of one server that its clients share: they are spread over them. */
export class SharedServers {
  readonly #options: SharingOptions;
  /** How many processes there may be. */
  readonly #max: number;
  readonly #servers = new Set<SharedServer>();

  constructor(options: SharingOptions, max: number) {
    this.#options = options;
    this.#max = max;
  }

  /** Gives a client a place at the process with the fewest clients. Errors as {@link SharedServer.join} */
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
