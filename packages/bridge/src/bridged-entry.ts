/**
 * One server of a bridge, for all clients of the bridge: how a client gets to it. How its processes
 * and connections are kept and shared is decided here, and nowhere else.
 */
import { systemClock } from '../../../src/actors/clock.ts';
import { connect } from '../../client/src/connect.ts';
import type { ConnectOptions } from '../../client/src/connect-options.ts';
import type { ConnectionState } from '../../client/src/connection/connection-streams.observable.ts';
import type { Connection } from '../../client/src/connection/connection.ts';
import type { HostRequestOptions, ServerEntry } from '../../client/src/connection/options.ts';
import type { UpstreamClient } from '../../../src/server/define/upstream.ts';
import { redacted } from '../../diagnostics/src/redaction.ts';
import { secretsGiven } from '../../diagnostics/src/secrets.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { printableName } from '../../../src/protocol/printable.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { ErrorCode, ProtocolError, RuntimeError } from '../../../src/protocol/errors.ts';
import { eventsOf } from '../../client/src/connection/host-connection.ts';
import type { HostConnectionInput } from '../../client/src/connection/host-connection.ts';
import { OutwardAuth } from './outward-auth.ts';
import type { BridgeAuth } from './outward-auth.ts';
import { BridgedServer, toolIn } from './bridged-server.ts';
import type { BridgingOptions, OpenedServer } from './bridged-server.ts';
import { SharedServers } from './shared-server.ts';
import type { SharingClient } from './shared-server.ts';
import type { PolicyGuard } from './policy-guard.ts';
import type { ToolGuard } from './tool-guard.ts';

/** How the clients of a bridge share the processes of a launched server. */
export interface ProcessOptions {
  /**
   * `session`, the default: each session has a process of its own, and so has each client without a
   * session. `shared`: all have one together. `pool`: they are spread over `poolSize` processes. A server
   * that several share cannot ask them anything, unless it speaks 2026-07-28.
   */
  readonly share?: 'session' | 'shared' | 'pool' | undefined;
  /** How many processes a pool has. By default 4. */
  readonly poolSize?: number | undefined;
  /** How many processes of the server there are at once. By default 64; one more is refused. */
  readonly maxProcesses?: number | undefined;
  /**
   * How long a process is kept that no client needs at the moment, milliseconds: one that clients share,
   * or that of a client without a session. By default 5 minutes.
   */
  readonly processIdleMs?: number | undefined;
}

/** How the clients of a bridge get to one of its servers. */
export interface BridgedEntryOptions extends Omit<ConnectOptions, 'auth'>, ProcessOptions {
  /** With which token the server is reached at its URL. */
  readonly auth?: BridgeAuth | undefined;
  /** Gets what the launched server writes to stderr. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /**
   * `reads`: a request that was sent to a server that was lost then is sent once more, if the protocol or
   * the tool's annotations make that harmless. By default nothing is sent twice.
   */
  readonly retry?: HostRequestOptions['retry'];
  /** Decides which of its tools are offered; all by default. */
  readonly guard?: ToolGuard | undefined;
  /** Decides what clients may do with them. */
  readonly policies?: PolicyGuard | undefined;
}

/** A shorter value of the environment occurs in too many other texts. */
const shortestSecret = 6;

const defaultProcesses = { poolSize: 4, maxProcesses: 64, processIdleMs: 5 * 60_000 };

export class BridgedEntry {
  readonly #entry: ServerEntry;
  readonly #options: ConnectOptions;
  readonly #auth: OutwardAuth;
  readonly #onStderr: BridgedEntryOptions['onStderr'];
  readonly #guard: ToolGuard | undefined;
  readonly #policies: PolicyGuard | undefined;
  readonly #bridging: BridgingOptions;
  readonly #maxProcesses: number;
  readonly #secrets: readonly string[];
  #hasReported = false;
  /** Undefined if each client has a process of its own. */
  readonly #shared: SharedServers | undefined;
  /** The clients that have a process of their own, the oldest first. */
  readonly #own = new Set<UpstreamClient>();
  #processes = 0;
  /** Whether it has refused `initialize`. */
  #isModernOnly = false;

  /**
   * @throws {RuntimeError} CONFIG_INVALID: the server cannot be shared
   * @throws {RangeError} a number is wrong; names it
   */
  constructor(entry: ServerEntry, given: BridgedEntryOptions) {
    const { onStderr, retry, guard, policies, auth, ...sharable } = given;
    const { share, poolSize, maxProcesses, processIdleMs, ...options } = sharable;
    const counts = countsWith({ poolSize, maxProcesses, processIdleMs });
    this.#entry = entry;
    const env = 'env' in entry ? (entry.env ?? {}) : {};
    const values = Object.values(env).filter((value) => (value?.length ?? 0) >= shortestSecret);
    const secrets = secretsGiven(entry as Parameters<typeof secretsGiven>[0]);
    this.#secrets = [...secrets, ...(values as string[])];
    this.#auth = new OutwardAuth(auth, entry);
    this.#options = options;
    this.#onStderr = onStderr;
    this.#guard = guard;
    this.#policies = policies;
    const hide = (error: unknown) => this.hide(error);
    this.#bridging = { ...options, idleMs: counts.processIdleMs, retry, hide };
    this.#maxProcesses = counts.maxProcesses;
    if (share === undefined || share === 'session') return;
    refuseSharing(entry, share);
    const { clock = systemClock } = options;
    const claim = () => this.#claim();
    const sharing = {
      entry,
      connecting: options,
      hide,
      clock,
      processIdleMs: counts.processIdleMs,
    };
    const size = share === 'shared' ? 1 : counts.poolSize;
    this.#shared = new SharedServers({ ...sharing, claim, onStderr }, size);
  }

  /**
   * Connects one client to the server, until the client's signal is aborted or the upstream closed.
   * A client of the legacy era that would have sent `initialize` does so: a server of both eras then
   * speaks the client's own.
   *
   * @param moved gets each state of the connection once it has been ready, the present one first
   * @throws {RuntimeError} why the server is not ready, as `connect`; CONFIG_INVALID: a lock has another
   * @throws {ProtocolError} -32000: there are too many processes
   */
  async open(
    client: UpstreamClient,
    moved: (state: ConnectionState) => void = () => {},
  ): Promise<OpenedServer> {
    this.#guard?.admit();
    const opened = await this.#open(client, moved).catch((error: unknown) => {
      throw this.hide(error);
    });
    if (!this.#policies && !this.#guard) return opened;
    const policed = this.#policies?.over(opened) ?? opened;
    const offered = this.#guard?.over(policed) ?? policed;
    return { ...offered, tool: async (name) => toolIn(await offered.list('tools'), name) };
  }

  /** Removes the configured headers, environment values and credentials that a server has repeated in an error. */
  hide<T>(error: T): T {
    if (!(error instanceof Error)) return error;
    const { message } = error;
    error.message = this.#secrets.reduce(
      (text, secret) => text.replaceAll(secret, redacted),
      message,
    );
    return error;
  }

  async #open(
    client: UpstreamClient,
    moved: (state: ConnectionState) => void,
  ): Promise<OpenedServer> {
    const bridging = new BridgedServer(client, this.#bridging);
    const hear = (state: ConnectionState) => {
      bridging.moved(state);
      moved(state);
    };
    if (this.#shared) {
      const heard = (...told: Parameters<SharingClient['onNotification']>) =>
        bridging.heard(...told);
      const [connection, lease] = await this.#shared.join(
        { onNotification: heard, onState: hear },
        client.signal,
      );
      this.#reportWithheld(client, connection);
      return bridging.over(connection, lease);
    }
    return bridging.over(await this.#connectOwn(client, bridging, hear));
  }

  /** A legacy server may offer fewer tools to a host without these: said once, because nothing else shows it. */
  #reportWithheld({ peer }: UpstreamClient, { server }: Connection): void {
    const withheld = ['elicitation', 'roots', 'sampling'].filter(
      (name) => peer.capabilities[name] !== undefined,
    );
    if (this.#hasReported || server?.era !== 'legacy' || withheld.length === 0) return;
    this.#hasReported = true;
    const message = `The process of ${printableName(server.info.name)} is shared, so it is not told that clients have ${withheld.join(', ')}: tools that need them may be missing. With "share": "session" it is told`;
    const { report = defaultReport } = this.#options;
    report({ level: 'warning', name: 'bridge.capabilities-withheld', message });
  }

  /** Ends what outlives a client. No client is connected, and none will be. */
  async close(): Promise<void> {
    await this.#shared?.close();
  }

  /** Connects a client that has the server to itself. */
  async #connectOwn(
    client: UpstreamClient,
    bridging: BridgedServer,
    moved: (state: ConnectionState) => void,
  ): Promise<Connection> {
    const release = 'url' in this.#entry ? () => {} : await this.#claim();
    const gone = () => {
      this.#own.delete(client);
      release();
    };
    try {
      const connection = await this.#connect(client, bridging);
      this.#own.add(client);
      eventsOf(connection).listen((event) => {
        if (event.type === 'stderr') this.#onStderr?.(event.text);
        // Those before the present one are of the time before it was ready.
        if (event.type !== 'state' || event.state !== connection.state) return;
        moved(event.state);
        if (event.state.value === 'closed') gone();
      });
      return connection;
    } catch (error) {
      gone();
      throw error;
    }
  }

  async #connect(client: UpstreamClient, bridging: BridgedServer): Promise<Connection> {
    const { peer, signal } = client;
    const auth = this.#auth.of(client);
    const own: ConnectOptions = {
      signal,
      clientInfo: peer.info,
      capabilities: peer.capabilities,
      listens: 'ready',
    };
    if (auth !== undefined) Object.assign(own, { auth });
    // Not by spreads: each connection would have a hidden class of its own.
    const given: ConnectOptions = Object.assign(own, this.#options, bridging.hearing);
    if (bridging.era === 'modern' || this.#options.era !== undefined || this.#isModernOnly) {
      return connect(this.#entry, given);
    }
    const supposing: ConnectOptions & Pick<HostConnectionInput, 'supposedEra'> = Object.assign(
      given,
      { supposedEra: 'legacy' as const },
    );
    const connection = await connect(this.#entry, supposing);
    this.#isModernOnly = connection.server?.era === 'modern';
    return connection;
  }

  /**
   * Takes the place of one process, if need be that of a client that asks nothing at the moment.
   *
   * @returns what gives the place back
   * @throws {ProtocolError} -32000: all are in use
   */
  async #claim(): Promise<() => void> {
    const release = () => {
      this.#processes--;
    };
    if (this.#processes < this.#maxProcesses) {
      this.#processes++;
      return release;
    }
    for (const client of this.#own) {
      const ended = client.release();
      if (!ended) continue;
      this.#own.delete(client);
      this.#processes++;
      await ended;
      return release;
    }
    const message = `Overloaded: ${this.#maxProcesses} processes of the server are in use (maxProcesses); try again later`;
    const data = { reason: 'overloaded', retryable: true };
    throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }
}

/** @throws {RangeError} a number is wrong; names it */
function countsWith(given: ProcessOptions): typeof defaultProcesses {
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of known) {
    const least = name === 'processIdleMs' ? 0 : 1;
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `${name} must be a number of at least ${least}, this is ${inspectValue(value)}`,
    );
  }
  return { ...defaultProcesses, ...Object.fromEntries(known) };
}

/** @throws {RuntimeError} CONFIG_INVALID */
function refuseSharing(entry: ServerEntry, share: unknown): void {
  if (share !== 'shared' && share !== 'pool') {
    const message = `share must be "session", "shared" or "pool", this is ${inspectValue(share)}`;
    throw new RuntimeError('CONFIG_INVALID', message);
  }
  if (!('url' in entry)) return;
  const message = `share is "${share}", and the server has a URL: only a server that is launched can be shared`;
  throw new RuntimeError('CONFIG_INVALID', message);
}
