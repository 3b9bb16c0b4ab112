/** Public interface of connections to many servers. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Connection } from '../connection/connection.ts';
import type { ConnectionOptions, HostRequestOptions, ServerEntry } from '../connection/options.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { FoundTool, MergedTool, ServerStatus, Startup } from './server-reports.ts';
import type { ServersStreams } from './servers-streams.observable.ts';
import type { EnvironmentVariables } from './variables.ts';

/** Options of {@link Servers}. Connection options apply to every server. */
export interface ManagedOptions extends Omit<ConnectionOptions, 'name' | 'record'> {
  /** Maximum wait for the startup, ms. Default: 3000. */
  readonly startupMs?: number;
  /** Maximum processes starting at once. Default: 8. */
  readonly maxStarting?: number;
  /** Per-server options. They override the general ones; settings in the file override both. */
  readonly forServer?: (name: string) => Partial<ConnectionOptions>;
  /**
   * Folder for tool lists cached between runs; `false` disables the cache. Default: the user's
   * cache folder.
   */
  readonly cacheFolder?: string | false;
  /** Source of `${VAR}`. Default: the process's environment. */
  readonly environment?: EnvironmentVariables;
  /** True to reload a file when it changes. Default: true. */
  readonly watch?: boolean;
}

/** Connections by server name. */
export interface Servers extends ServersStreams, AsyncDisposable {
  /** Faults of the configuration. An invalid server counts as failed; the others run. */
  readonly faults: readonly ConfigProblem[];
  /** Configuration keys without effect, possibly misspelled. */
  readonly remarks: readonly ConfigProblem[];
  /** All servers of the configuration, in order. */
  readonly status: ReadonlyMap<string, ServerStatus>;
  /** The current merged tool list, sorted by name. */
  readonly tools: readonly MergedTool[];

  /** Resolves when every server is ready or has failed, at the latest after `startupMs`. */
  started(): Promise<Startup>;
  /** The connection to a server; undefined without a connection, or for an unknown server. */
  get(server: string): Connection | undefined;
  /**
   * The connection to a server. Starts the server if it is idle, or if you closed its connection.
   *
   * @throws {RuntimeError} CONFIG_INVALID: the server is unknown, disabled or invalid
   */
  use(server: string): Promise<Connection>;
  /**
   * The merged tool list. Starts idle servers whose tools are unknown. Waits at most `timeoutMs`
   * (60 s) for servers that are not ready; with `whenAway: 'refuse'` it does not wait. A slow
   * server's tools are listed from the cache; a failed server's are missing. `status` has the
   * reason.
   */
  listTools(
    options?: HostRequestOptions & { readonly refresh?: boolean },
  ): Promise<readonly MergedTool[]>;
  /**
   * Finds tools by merged name, or by a tool's own name, which several servers may share. Waits
   * only for servers that could have the tool, at most `timeoutMs` (60 s), until one lists it. For
   * a tool's own name, the other servers get one more second.
   *
   * @returns no tool, one, or all with this own name
   * @throws {RuntimeError} REQUEST_TIMEOUT: no server has listed it, but a slow one may have it;
   *   CANCELLED; NOT_READY: all servers are closed
   */
  findTools(name: string, options?: HostRequestOptions): Promise<readonly FoundTool[]>;
  /**
   * Calls a tool by its merged name. A name that includes a server is sent there at once. If no
   * server is known to have the tool, waits at most `timeoutMs` for the lists that could contain
   * it.
   *
   * @throws {ProtocolError} the tool does not exist; the server's own error
   * @throws {RuntimeError} as a connection's `callTool`
   */
  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** Factory of connections. */
export interface ConnectionMaker {
  /** Opens a connection without waiting for the handshake. */
  open(entry: ServerEntry, options: ConnectionOptions): Connection;
  /**
   * Cache key of the host's identity as the server sees it; empty if the entry alone determines it.
   * Undefined if the identity is unknown before connecting: nothing from the server may then be
   * cached for another run.
   */
  callerOf(entry: ServerEntry, options: ConnectionOptions): string | undefined;
}
