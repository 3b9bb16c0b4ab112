/** One server of a bridge, for all its clients: connects them, and decides how processes are shared. */
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

/** Sharing of a launched server's processes between the clients of a bridge. */
export interface ProcessOptions {
  /**
   * `session` (default): one process per session, or per client without a session. `shared`: one process for all.
   * `pool`: clients are spread over `poolSize` processes. A shared server cannot ask its clients anything, unless it
   * speaks 2026-07-28.
   */
  readonly share?: 'session' | 'shared' | 'pool' | undefined;
  /** Number of processes in a pool. Default: 4. */
  readonly poolSize?: number | undefined;
  /** Maximum number of concurrent processes. Default: 64; further clients are refused. */
  readonly maxProcesses?: number | undefined;
  /**
   * Time for which an idle process is kept, milliseconds: a shared one, or that of a client without a session. Default:
   * 5 minutes.
   */
  readonly processIdleMs?: number | undefined;
}

/** Options of the connections to one server of a bridge. */
export interface BridgedEntryOptions extends Omit<ConnectOptions, 'auth'>, ProcessOptions {
  /** Source of the token for a server with a URL. */
  readonly auth?: BridgeAuth | undefined;
  /** Receives the stderr of a launched server. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /**
   * `reads`: resends a request once after the connection was lost, if the protocol or the tool's annotations mark it as
   * read-only. Default: never resend.
   */
  readonly retry?: HostRequestOptions['retry'];
  /** Hides tools that the lock does not allow. Default: offers all. */
  readonly guard?: ToolGuard | undefined;
  /** Restricts tools and calls. */
  readonly policies?: PolicyGuard | undefined;
}

/** Minimum length of an environment value to redact: shorter values occur in too many other texts. */
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
  /** Undefined if each client has its own process. */
  readonly #shared: SharedServers | undefined;
  /** Clients with their own process, oldest first. */
  readonly #own = new Set<UpstreamClient>();
  #processes = 0;
  /** True if the server has rejected `initialize`. */
  #isModernOnly = false;

  /**
   * @throws {RuntimeError} CONFIG_INVALID: the server cannot be shared
   * @throws {RangeError} a number is out of range; names it
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
   * Connects one client to the server, until the client's signal aborts or the upstream closes. For a legacy client the
   * bridge sends `initialize`, so that a server of both eras speaks the client's.
   *
   * @param moved receives each state of the connection once it is ready, beginning with the current one
   * @throws {RuntimeError} as `connect`; CONFIG_INVALID: the lock names another server
   * @throws {ProtocolError} -32000: too many processes
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

  /** Redacts configured headers, environment values and credentials that a server repeated in an error. */
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

  /** Warns once that a shared legacy server does not learn its clients' capabilities, and may offer fewer tools. */
  #reportWithheld({ peer }: UpstreamClient, { server }: Connection): void {
    const withheld = ['elicitation', 'roots', 'sampling'].filter(
      (name) => peer.capabilities[name] !== undefined,
    );
    if (this.#hasReported || server?.era !== 'legacy' || withheld.length === 0) return;
    this.#hasReported = true;
    const message = `The shared process of ${printableName(server.info.name)} does not learn that clients have ${withheld.join(', ')}, so tools that need them may be missing: use "share": "session"`;
    const { report = defaultReport } = this.#options;
    report({ level: 'warning', name: 'bridge.capabilities-withheld', message });
  }

  /** Ends shared processes. Call it after the last client has disconnected. */
  async close(): Promise<void> {
    await this.#shared?.close();
  }

  /** Connects a client to its own process. */
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
        // Earlier states precede readiness.
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
    // Object.assign instead of spreads: a spread gives each connection its own hidden class.
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
   * Takes a process slot, if necessary from an idle client.
   *
   * @returns releases the slot
   * @throws {ProtocolError} -32000: all slots are in use
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
    const message = `Overloaded: all ${this.#maxProcesses} processes of the server are in use (maxProcesses); try again later`;
    const data = { reason: 'overloaded', retryable: true };
    throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }
}

/** @throws {RangeError} a number is out of range; names it */
function countsWith(given: ProcessOptions): typeof defaultProcesses {
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of known) {
    const least = name === 'processIdleMs' ? 0 : 1;
    if (typeof value === 'number' && value >= least) continue;
    throw new RangeError(
      `${name} must be a number of at least ${least}, got ${inspectValue(value)}`,
    );
  }
  return { ...defaultProcesses, ...Object.fromEntries(known) };
}

/** @throws {RuntimeError} CONFIG_INVALID */
function refuseSharing(entry: ServerEntry, share: unknown): void {
  if (share !== 'shared' && share !== 'pool') {
    const message = `share must be "session", "shared" or "pool", got ${inspectValue(share)}`;
    throw new RuntimeError('CONFIG_INVALID', message);
  }
  if (!('url' in entry)) return;
  const message = `share must be "session" for a server with a URL, got "${share}": only launched servers can be shared`;
  throw new RuntimeError('CONFIG_INVALID', message);
}
