/**
 * A bridge: a server as `createMcpServer` creates it, whose upstream is a connection to another server.
 *
 * @see docs/maintaining/decisions/22-the-bridge.md
 */
import type { ConnectOptions } from '../../client/src/connect-options.ts';
import type { ServerEntry } from '../../client/src/connection/options.ts';
import { connectionLimitsWith } from '../../client/src/connection/limits.ts';
import type { ServerDefinition } from '../../../src/server/define/definition.ts';
import type { DefinedUpstream, UpstreamClient } from '../../../src/server/define/upstream.ts';
import { defineUpstream } from './upstreams.ts';
import type { CallCounts } from '../../http/src/nodes/stores.ts';
import { createMcpServer } from '../../../src/server/create-server.ts';
import type { McpServer } from '../../../src/server/create-server.ts';
import { assertDuration, systemClock } from '../../../src/actors/clock.ts';
import { defaultLimits } from '../../../src/actors/limits.ts';
import { configInvalid } from '../../client/src/hosts/config-problem.ts';
import { readHosts } from '../../client/src/hosts/hosts-file.ts';
import type { HostsConfig } from '../../client/src/hosts/hosts-file.ts';
import type { EnvironmentVariables } from '../../client/src/hosts/variables.ts';
import { BridgedEntry } from './bridged-entry.ts';
import type { BridgedEntryOptions, ProcessOptions } from './bridged-entry.ts';
import type { BridgeAuth } from './outward-auth.ts';
import type { ServerSettings } from '../../client/src/hosts/server-entry.ts';
import { faultsOfPolicies } from '../../client/src/hosts/server-entry.ts';
import type { ToolPolicies } from '../../client/src/hosts/tool-policies.ts';
import { PatternUses, PolicyGuard } from './policy-guard.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import type { ServersLock } from '../../client/src/hosts/servers-lock.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { keepNumberTexts } from '../../../src/protocol/number-text.ts';
import { ManyServers } from './many-servers.ts';
import { ToolGuard } from './tool-guard.ts';
import type { Trust } from './tool-guard.ts';

/** Connection options that the bridge sets itself. */
type OfBridges =
  | 'auth'
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

/** Options of a bridge. The connection options apply to each connection that it opens. */
export interface BridgeOptions
  extends Omit<ConnectOptions, OfBridges>, ProcessOptions, Pick<BridgedEntryOptions, 'retry'> {
  /**
   * Source of the token for servers with a URL. The token that a client has sent to the bridge is never forwarded.
   */
  readonly auth?: BridgeAuth;
  /**
   * The bridge's own tools, resources, prompts and options. A tool with the name of a bridged one replaces it.
   */
  readonly definition?: Partial<Omit<ServerDefinition, 'upstream'>>;
  /** Receives the stderr of launched servers, with the server's name if there are many. */
  readonly onStderr?: (text: string, server: string | undefined) => void;
  /**
   * Time that the first answer to a client waits for the first of many servers, milliseconds. Default: 3000. After each
   * server that is ready, the next one has a sixth of it. Later servers are listed once they are ready.
   */
  readonly patienceMs?: number;
  /**
   * Replaces the tools of many servers by three: to find, describe and call a tool. `true`: always; a number: from that
   * many tools on. Default: false.
   */
  readonly search?: boolean | number;
  /**
   * A lock read by `readLockFile`: only tools that are in it and have not changed are offered. Default: all tools.
   */
  readonly lock?: ServersLock | undefined;
  /**
   * `locked` (the default with a lock): only locked tools are offered. `new`: tools that the lock does not know are
   * offered as well. `all`: the lock is ignored. Hosts cannot see a tool that is not offered.
   */
  readonly trust?: Trust | undefined;
  /**
   * Policies for offered tools, call rates and confirmations. Patterns match the names that clients see: with many
   * servers, `server__tool`. A configuration may add policies per server that match the server's own names. A call must
   * satisfy all policies.
   */
  readonly policies?: ToolPolicies | undefined;
  /** Shared call counts of all nodes: the `counts` of their stores. Default: each process counts for itself. */
  readonly counts?: CallCounts | undefined;
  /** Bridges only this server of a configuration, with its own names. Default: all servers, merged into one. */
  readonly server?: string | undefined;
  /** Source of `${VAR}` in a configuration. Default: the process's environment. */
  readonly environment?: EnvironmentVariables;
  /** Reloads the configuration file when it changes. Default: true. */
  readonly watch?: boolean;
  /** Receives the configuration of many servers, and each one that replaces it. */
  readonly onConfig?: (config: HostsConfig) => void;
}

/**
 * Many servers by name: the content of an `mcpServers` file, or the result of `readHostsFile`.
 */
export type BridgedServers = HostsConfig | { readonly mcpServers: object };

const minute = 60_000;

/** Timeouts of last resort: a host has its own timeout per call, and cancels. */
const bridgeLimits = {
  requestTimeoutMs: 60 * minute,
  requestMaxTotalMs: 24 * 60 * minute,
  maxRounds: defaultLimits.maxRounds,
};

/**
 * Connects a server of any era and transport to hosts of any era. Each session gets its own connection, and its own
 * process of a launched server, which ends with the session. Requests since 2026-07-28 have no session; those with the
 * same client description share a connection.
 *
 * The bridge forwards the capabilities of both sides, and params, results, errors and notifications unchanged.
 *
 * ```ts
 * await serve(bridge({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] }));
 * await serve(bridge(await readHostsFile('mcp.json'), { search: 100 }));
 * ```
 *
 * Many servers appear to a host as one, with tools named `server__tool`. An unavailable server does not affect the
 * others.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the configuration has no servers. An entry that names no server fails when its
 *   first client connects
 * @throws {RangeError} an option is out of range; names it
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
    server: only,
    lock,
    trust = lock ? 'locked' : 'all',
    policies,
    counts,
    ...connecting
  } = options;
  keepNumberTexts();
  assertDuration('patienceMs', patienceMs);
  refuseTrust(trust, lock);
  const faults = policies ? faultsOfPolicies(policies) : [];
  if (faults.length > 0) throw new TypeError(faults.join('\n'));
  const limits = connectionLimitsWith({ ...bridgeLimits, ...options.limits });
  const { report = defaultReport } = options;
  const own = {
    name: options.name ?? 'bridge',
    version: '0.1.0',
    ...definition,
  };
  const locked = Object.keys(lock?.servers ?? {});
  const alone = options.name ?? (locked.length === 1 ? locked[0] : undefined) ?? 'bridge';
  const uses = policies && new PatternUses(policies, report);
  /** @param shown true if clients see the server's name before the names of its tools */
  const entryOf = (
    entry: ServerEntry,
    { bridging, timeoutMs, restart, era, tools }: Partial<ServerSettings> = {},
    { name, shown = false }: { readonly name?: string | undefined; readonly shown?: boolean } = {},
  ) => {
    const called = name ?? alone;
    const { policies: ofEntry, ...more } = bridging ?? {};
    const { clock = systemClock } = options;
    const server = shown ? name : undefined;
    const applied = [
      ...(policies && uses ? [{ policies, server, uses }] : []),
      ...[ofEntry ?? {}, tools ?? {}].map((own) => {
        return { policies: own, server: undefined, uses: new PatternUses(own, report) };
      }),
    ].filter((each) => Object.values(each.policies).length > 0);
    return new BridgedEntry(entry, {
      ...connecting,
      // The bridge's sharing applies to launched servers only.
      ...('url' in entry && bridging ? { share: 'session' } : {}),
      ...more,
      ...(shown ? {} : connecting),
      ...(name === undefined ? {} : { name }),
      ...(restart === undefined ? {} : { restart }),
      ...(era === undefined ? {} : { era }),
      limits:
        timeoutMs === undefined
          ? limits
          : connectionLimitsWith({ ...limits, requestTimeoutMs: timeoutMs }),
      onStderr: onStderr && ((text) => onStderr(text, shown ? name : undefined)),
      guard:
        lock && trust !== 'all'
          ? new ToolGuard({ name: called, entry, lock, trust, report })
          : undefined,
      policies:
        applied.length > 0
          ? new PolicyGuard({ name: called, applied, clock, counts, report })
          : undefined,
    });
  };
  if (isEntry(source)) return createMcpServer({ ...own, upstream: upstreamOf(entryOf(source)) });
  const config = isRead(source) ? source : readHosts(source, environment ? { environment } : {});
  const settings = only === undefined ? undefined : settingsOf(config, only);
  // Without a file, the configuration cannot change.
  if (settings && (config.file === undefined || !watch)) {
    onConfig(config);
    const server = entryOf(settings.entry, settings, { name: only });
    return createMcpServer({ ...own, upstream: upstreamOf(server) });
  }
  const servers = new ManyServers(config, {
    ...{ patienceMs, environment, watch, applied: onConfig },
    ...{ clock: options.clock, report: options.report },
    searchFrom: search === true ? 0 : search === false ? Infinity : search,
    serverInfo: own,
    only,
    // Managed servers filter the tools of many servers, because they apply configuration changes.
    entryOf: (name, { tools, ...each }) =>
      only === undefined
        ? entryOf(each.entry, each, { name, shown: true })
        : entryOf(each.entry, { ...each, tools }, { name }),
  });
  return createMcpServer({ ...own, upstream: upstreamOf(servers) });
}

/** An upstream over the bridged servers, closed with the bridge. */
const upstreamOf = (bridged: BridgedEntry | ManyServers): DefinedUpstream =>
  defineUpstream(
    Object.assign((client: UpstreamClient) => bridged.open(client), {
      close: () => bridged.close(),
    }),
  );

const defaultPatienceMs = 3000;

/** @throws {RangeError} unknown value, or the lock is missing */
function refuseTrust(trust: unknown, lock: ServersLock | undefined): void {
  if (trust !== 'locked' && trust !== 'new' && trust !== 'all') {
    throw new RangeError(`trust must be "locked", "new" or "all", got ${inspectValue(trust)}`);
  }
  if (trust === 'all' || lock) return;
  throw new RangeError(`trust "${trust}" needs a lock: set the option "lock"`);
}

/** @throws {RuntimeError} CONFIG_INVALID: the server is missing, disabled or invalid */
function settingsOf({ servers, file }: HostsConfig, name: string): ServerSettings {
  const server = servers.get(name);
  if (server?.kind === 'enabled') return server.settings;
  if (server?.kind === 'invalid') throw configInvalid(server.faults);
  const message = server ? 'it is disabled' : 'there is no such server';
  throw configInvalid([{ file, server: name, message }]);
}

const isEntry = (source: ServerEntry | BridgedServers): source is ServerEntry =>
  ['command', 'url', 'transport'].some((key) => key in source);

const isRead = (source: BridgedServers): source is HostsConfig =>
  'servers' in source && source.servers instanceof Map;
