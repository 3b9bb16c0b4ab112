/** Connections to many servers, as their host uses them. */
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Connection } from '../connection/connection.ts';
import type { ConnectionOptions, HostRequestOptions, ServerEntry } from '../connection/options.ts';
import type { CallToolResult } from '../lists/list-results.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { FoundTool, MergedTool, ServerStatus, Startup } from './server-reports.ts';
import type { ServersStreams } from './servers-streams.observable.ts';
import type { EnvironmentVariables } from './variables.ts';

/** The options of {@link Servers}. Options of a single connection apply to each of them. */
export interface ManagedOptions extends Omit<ConnectionOptions, 'name' | 'record'> {
  /** How long to wait for the start, milliseconds; 3000 by default. */
  readonly startupMs?: number;
  /** How many processes may be starting at once; 8 by default. */
  readonly maxStarting?: number;
  /** Options for one server, which override the general ones; the file's settings override both. */
  readonly forServer?: (name: string) => Partial<ConnectionOptions>;
  /**
   * Where lists of tools are cached between runs; `false`: nowhere. By default in the user's cache
   * folder.
   */
  readonly cacheFolder?: string | false;
  /** The source of `${VAR}`; the process's environment by default. */
  readonly environment?: EnvironmentVariables;
  /** Whether a file is read again when it changes; true by default. */
  readonly watch?: boolean;
}

/** Connections by the names of their servers. */
export interface Servers extends ServersStreams, AsyncDisposable {
  /** The faults of the configuration. A faulty server counts as failed; the others run. */
  readonly faults: readonly ConfigProblem[];
  /** Keys of the configuration that have no effect and may be typing errors. */
  readonly remarks: readonly ConfigProblem[];
  /** All servers of the configuration, in its order. */
  readonly status: ReadonlyMap<string, ServerStatus>;
  /** The merged list as it is known now, sorted by name. */
  readonly tools: readonly MergedTool[];

  /** Resolves when each server is ready or has failed, after `startupMs` at the latest. */
  started(): Promise<Startup>;
  /** The connection to a server; undefined if there is no connection or no such server. */
  get(server: string): Connection | undefined;
  /**
   * The connection to a server. Starts the server if it is idle, or if you have closed its
   * connection.
   *
   * @throws {RuntimeError} CONFIG_INVALID: there is no such server, or it is disabled or faulty
   */
  use(server: string): Promise<Connection>;
  /**
   * The merged list. Starts idle servers whose tools are unknown. Waits at most `timeoutMs` (60 s)
   * for servers that are not ready; with `whenAway: 'refuse'` it does not wait. A late server's
   * tools are listed as known from earlier runs; a failed server's are missing. `status` says why.
   */
  listTools(
    options?: HostRequestOptions & { readonly refresh?: boolean },
  ): Promise<readonly MergedTool[]>;
  /**
   * Finds tools by name: the name in the merged list, or a tool's own name, which several servers
   * may share. Waits only for servers that could have it, at most `timeoutMs` (60 s), until one
   * says that it has it. If that is the tool's own name, the other servers get one more second.
   *
   * @returns no tool, one, or all with this own name
   * @throws {RuntimeError} REQUEST_TIMEOUT: no server has it so far, but a late one may; CANCELLED;
   *   NOT_READY: all servers are closed
   */
  findTools(name: string, options?: HostRequestOptions): Promise<readonly FoundTool[]>;
  /**
   * Calls a tool by its name in the merged list. If the name spells out a server, the call is sent
   * there at once. If no server is known to have it, this waits at most `timeoutMs` for the lists
   * that could.
   *
   * @throws {ProtocolError} there is no such tool; the server's own error
   * @throws {RuntimeError} as a connection's `callTool`
   */
  callTool(name: string, args?: JsonObject, options?: HostRequestOptions): Promise<CallToolResult>;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** How connections are made. */
export interface ConnectionMaker {
  /** Opens a connection without waiting for it. */
  open(entry: ServerEntry, options: ConnectionOptions): Connection;
  /**
   * Identifies the host as the server will see it, as a text; empty if the entry alone decides it.
   * Undefined if it is not known before connecting: then nothing from the server may be cached for
   * another run.
   */
  callerOf(entry: ServerEntry, options: ConnectionOptions): string | undefined;
}
