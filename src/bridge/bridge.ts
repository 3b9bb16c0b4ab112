/**
 * A bridge: a session towards the host, a connection towards the server, and one correlation between
 * them. It is a server as `createMcpServer` makes one, whose upstream is a connection.
 *
 * @see docs/decisions/0055-the-bridge.md
 */
import type { ConnectOptions } from '../client/connect.ts';
import type { ServerEntry } from '../client/connection/options.ts';
import { connectionLimitsWith } from '../client/connection/limits.ts';
import type { ServerDefinition } from '../define/definition.ts';
import type { UpstreamClient, UpstreamOf } from '../define/upstream.ts';
import { createMcpServer } from '../server/create-server.ts';
import type { McpServer } from '../server/create-server.ts';
import { refuseDuration } from '../actors/clock.ts';
import { defaultLimits } from '../actors/limits.ts';
import { readHosts } from '../client/hosts/hosts-file.ts';
import type { HostsConfig } from '../client/hosts/hosts-file.ts';
import type { EnvironmentVariables } from '../client/hosts/variables.ts';
import { BridgedEntry } from './bridged-entry.ts';
import type { BridgedEntryOptions, ProcessOptions } from './bridged-entry.ts';
import { defaultReport } from '../session/default-report.ts';
import type { ServersLock } from '../client/hosts/servers-lock.ts';
import { describe } from '../protocol/classify.ts';
import { ManyServers } from './many-servers.ts';
import { ToolGuard } from './tool-guard.ts';
import type { Trust } from './tool-guard.ts';

/** What a bridge declares and asks by itself. Everything else is as for any connection. */
type OfBridges =
  | 'capabilities'
  | 'clientInfo'
  | 'elicit'
  | 'listens'
  | 'onNotification'
  | 'onRequest'
  | 'revision'
  | 'roots'
  | 'sample'
  | 'signal';

/** The options of a bridge. Those of the connection hold for each connection that it opens. */
export interface BridgeOptions
  extends Omit<ConnectOptions, OfBridges>, ProcessOptions, Pick<BridgedEntryOptions, 'retry'> {
  /**
   * What the server has beside the bridged one: its own tools, resources, prompts and options. A tool
   * of the same name is in the place of the bridged one.
   */
  readonly definition?: Partial<Omit<ServerDefinition, 'upstream'>>;
  /** Gets what launched servers write to stderr; with many, the name of the one that does. */
  readonly onStderr?: (text: string, server: string | undefined) => void;
  /**
   * How long the first answer to a client waits for the first of many servers, milliseconds; 3000 by
   * default. From then on, the others have a sixth of it after each that comes. Later ones are
   * listed when they come.
   */
  readonly patienceMs?: number;
  /**
   * Gives a client of many servers three tools in place of all: to find a tool, to describe it, to
   * call it. `true`: always; a number: as soon as there are that many tools. Never by default.
   */
  readonly search?: boolean | number;
  /**
   * What was allowed, as `readLockFile` gives it: only tools that are in it and have not changed are
   * offered. Without it, all are.
   */
  readonly lock?: ServersLock | undefined;
  /**
   * `locked`, the default with a lock. `new`: tools that the lock does not know are offered, too.
   * `all`: the lock is ignored. A tool that is not offered does not exist for the host.
   */
  readonly trust?: Trust | undefined;
  /** The source of `${VAR}` in a configuration; the process's environment by default. */
  readonly environment?: EnvironmentVariables;
  /** Whether the file that many servers come from is read again when it changes; true by default. */
  readonly watch?: boolean;
  /** Gets the configuration of many servers, and each that replaces it. */
  readonly onConfig?: (config: HostsConfig) => void;
}

/**
 * Many servers by their names: an object with the content of an `mcpServers` file, or what
 * `readHostsFile` gives.
 */
export type BridgedServers = HostsConfig | { readonly mcpServers: object };

const minute = 60_000;

/** A host has its own time for each call, and cancels it. These are the last resort. */
const bridgeLimits = {
  requestTimeoutMs: 60 * minute,
  requestMaxTotalMs: 24 * 60 * minute,
  maxRounds: defaultLimits.maxRounds,
};

/**
 * Puts a server of any era, behind any transport, before hosts of any era. Each session gets a
 * connection of its own, and a server that is launched a process of its own, which ends with the
 * session. Requests since 2026-07-28, which have no session, share one with those that say the same
 * of their client.
 *
 * The server is told what the host has declared, and the host what the server has. Params, results,
 * errors and notifications are handed on as they come.
 *
 * ```ts
 * await serve(bridge({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] }));
 * await serve(bridge(await readHostsFile('mcp.json'), { search: 100 }));
 * ```
 *
 * Many servers are one server to a host: `server__tool` in one list. One that cannot be used costs
 * the others nothing.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry names no server, when its first client comes; a
 *   configuration holds no servers, at once
 * @throws {RangeError} an option is wrong; names it
 */
export function bridge(
  source: ServerEntry | BridgedServers,
  options: BridgeOptions = {},
): McpServer {
  const {
    definition,
    onStderr,
    patienceMs = defaultPatienceMs,
    search = false,
    environment,
    watch = true,
    onConfig = () => {},
    lock,
    trust = lock ? 'locked' : 'all',
    ...connecting
  } = options;
  refuseDuration('patienceMs', patienceMs);
  refuseTrust(trust, lock);
  const limits = { ...bridgeLimits, ...options.limits };
  connectionLimitsWith(limits);
  const { report = defaultReport } = options;
  const own = {
    name: options.name ?? 'bridge',
    version: '0.1.0',
    ...definition,
  };
  const locked = Object.keys(lock?.servers ?? {});
  const alone = options.name ?? (locked.length === 1 ? locked[0] : undefined) ?? 'bridge';
  const entryOf = (entry: ServerEntry, more: BridgedEntryOptions, name?: string) =>
    new BridgedEntry(entry, {
      ...connecting,
      ...more,
      limits: { ...limits, ...more.limits },
      onStderr: onStderr && ((text) => onStderr(text, name)),
      guard:
        lock && trust !== 'all'
          ? new ToolGuard({ name: name ?? alone, entry, lock, trust, report })
          : undefined,
    });
  if (isEntry(source)) {
    const server = entryOf(source, {});
    return createMcpServer({ ...own, upstream: upstreamOf(server) });
  }
  const config = isRead(source) ? source : readHosts(source, environment ? { environment } : {});
  const servers = new ManyServers(config, {
    ...{ patienceMs, environment, watch, applied: onConfig },
    ...{ clock: options.clock, report: options.report },
    searchFrom: search === true ? 0 : search === false ? Infinity : search,
    serverInfo: own,
    entryOf: (name, { entry, timeoutMs, restart, era, bridging }) =>
      entryOf(
        entry,
        {
          // What holds for all concerns those that are launched.
          ...('url' in entry ? { share: 'session' } : {}),
          ...bridging,
          name,
          ...(timeoutMs === undefined ? {} : { limits: { requestTimeoutMs: timeoutMs } }),
          ...(restart === undefined ? {} : { restart }),
          ...(era === undefined ? {} : { era }),
        },
        name,
      ),
  });
  return createMcpServer({ ...own, upstream: upstreamOf(servers) });
}

/** The clients' way to what is bridged, which ends with the server. */
const upstreamOf = (bridged: BridgedEntry | ManyServers): UpstreamOf =>
  Object.assign((client: UpstreamClient) => bridged.open(client), { close: () => bridged.close() });

const defaultPatienceMs = 3000;

/** @throws {RangeError} the word is unknown, or a lock is missing */
function refuseTrust(trust: unknown, lock: ServersLock | undefined): void {
  if (trust !== 'locked' && trust !== 'new' && trust !== 'all') {
    throw new RangeError(`trust must be "locked", "new" or "all", this is ${describe(trust)}`);
  }
  if (trust === 'all' || lock) return;
  throw new RangeError(`trust is "${trust}", and there is no lock: give one as "lock"`);
}

const isEntry = (source: ServerEntry | BridgedServers): source is ServerEntry =>
  ['command', 'url', 'transport'].some((key) => key in source);

const isRead = (source: BridgedServers): source is HostsConfig =>
  'servers' in source && source.servers instanceof Map;
