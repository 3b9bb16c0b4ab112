/** Connections to many servers, as their host uses them. */
import type { JsonObject } from '../../protocol/frames.ts';
import type { Connection } from '../connection/connection.ts';
import type { ConnectOptions, HostRequestOptions, ServerEntry } from '../connection/options.ts';
import type { CallToolResult } from '../lists/offered.ts';
import type { ConfigFault } from './config-fault.ts';
import type { FoundTool, MergedTool, ServerStatus, Startup } from './server-reports.ts';
import type { ServersStreams } from './servers-streams.observable.ts';
import type { Environment } from './variables.ts';

/** The options of {@link Servers}; those of a connection are for each of them. */
export interface ServersOptions extends Omit<ConnectOptions, 'name' | 'record'> {
  /** How long the start is waited for, milliseconds; 3000 by default. */
  readonly startupMs?: number;
  /** How many processes may be starting at once; 8 by default. */
  readonly maxStarting?: number;
  /** Options for one server, above the others; the file's stand above both. */
  readonly forServer?: (name: string) => Partial<ConnectOptions>;
  /** Where lists of tools are kept between runs; `false`: nowhere. By default the user's caches. */
  readonly cacheFolder?: string | false;
  /** Where `${VAR}` comes from; the process's environment by default. */
  readonly environment?: Environment;
  /** Whether a file is read again when it changes; by default it is. */
  readonly watch?: boolean;
}

/** Connections by the names of their servers. */
export interface Servers extends ServersStreams, AsyncDisposable {
  /** What is wrong with the configuration. A server that it is about has failed; the others run. */
  readonly faults: readonly ConfigFault[];
  /** What has no effect in the configuration, and may be mistyped. */
  readonly remarks: readonly ConfigFault[];
  /** All servers of the configuration, in its order. */
  readonly status: ReadonlyMap<string, ServerStatus>;
  /** The merged list, sorted by name, as it is known now. */
  readonly tools: readonly MergedTool[];

  /** Resolves when each server is ready or has failed, and after `startupMs` at the latest. */
  started(): Promise<Startup>;
  /** The connection to a server; undefined if there is none now, or no such server. */
  get(server: string): Connection | undefined;
  /**
   * The connection to a server, which is started if it is idle, or if you have closed its connection.
   *
   * @throws {RuntimeError} CONFIG_INVALID: there is no such server, or it is disabled or faulty
   */
  use(server: string): Promise<Connection>;
  /**
   * The merged list, with servers that are idle and have never been seen started for it. Servers that
   * are not ready yet are waited for, at most `timeoutMs` (60 s); with `whenAway: 'refuse'` they are
   * not. Of those that are late then, what is known from before is in the list. What servers have
   * failed to give is missing. `status` says of both why.
   */
  listTools(
    options?: HostRequestOptions & { readonly refresh?: boolean },
  ): Promise<readonly MergedTool[]>;
  /**
   * What a name means: a tool by its name in the merged list, or by its own name, which several servers
   * may have. Only servers that could have it are waited for, at most `timeoutMs` (60 s), and no longer
   * than until one has said that it has; after that the others have one second more if the name is a
   * tool's own.
   *
   * @returns none, one, or all that have this own name
   * @throws {RuntimeError} REQUEST_TIMEOUT: nobody has said that it has it, and somebody may; CANCELLED;
   *   NOT_READY: all servers are closed
   */
  findTools(name: string, options?: HostRequestOptions): Promise<readonly FoundTool[]>;
  /**
   * Calls a tool by its name in the merged list. While nobody is known to have it, the lists that could
   * have it are waited for, at most `timeoutMs`; a server that the name spells out gets the call at once.
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
  /** Makes a connection, without waiting for it. */
  open(entry: ServerEntry, options: ConnectOptions): Connection;
  /**
   * Who the server will take the host for, as a text; empty if the entry says it all. Undefined if
   * that is not known before: then nothing that the server says may be kept for another run.
   */
  callerOf(entry: ServerEntry, options: ConnectOptions): string | undefined;
}
