/**
 * A bridge: a session towards the host, a connection towards the server, and one correlation between
 * them. It is a server as `createMcpServer` makes one, whose upstream is a connection.
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

/** What a bridge declares and asks by itself. Everything else is as for any connection. */
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

/** The options of a bridge. Those of the connection hold for each connection that it opens. */
export interface BridgeOptions
  extends Omit<ConnectOptions, OfBridges>, ProcessOptions, Pick<BridgedEntryOptions, 'retry'> {
  /**
   * With which token servers are reached at their URLs. The token that a client has sent to the bridge
   * is never handed on.
   */
  readonly auth?: BridgeAuth;
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
  /**
   * Which tools clients are offered, how often they may call them, and before which calls a person is
   * asked. A pattern is of the names that clients see: with many servers, `server__tool`. A configuration
   * has policies of each server beside these, of its own names; what one forbids, no other allows.
   */
  readonly policies?: ToolPolicies | undefined;
  /** Counts calls for the rates of all nodes: the `counts` of their stores. By default each process counts for itself. */
  readonly counts?: CallCounts | undefined;
  /** Only this server of a configuration, with its own names. By default all of them, as one server. */
  readonly server?: string | undefined;
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
  /** @param shown whether clients see its name before the names of its tools */
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
      // What holds for all concerns those that are launched.
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
  // Without a file nothing can change.
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
    // The tools of many are filtered by their members, which hear of a change.
    entryOf: (name, { tools, ...each }) =>
      only === undefined
        ? entryOf(each.entry, each, { name, shown: true })
        : entryOf(each.entry, { ...each, tools }, { name }),
  });
  return createMcpServer({ ...own, upstream: upstreamOf(servers) });
}

/** The clients' way to what is bridged, which ends with the server. */
const upstreamOf = (bridged: BridgedEntry | ManyServers): DefinedUpstream =>
  defineUpstream(
    Object.assign((client: UpstreamClient) => bridged.open(client), {
      close: () => bridged.close(),
    }),
  );

const defaultPatienceMs = 3000;

/** @throws {RangeError} the word is unknown, or a lock is missing */
function refuseTrust(trust: unknown, lock: ServersLock | undefined): void {
  if (trust !== 'locked' && trust !== 'new' && trust !== 'all') {
    throw new RangeError(`trust must be "locked", "new" or "all", this is ${inspectValue(trust)}`);
  }
  if (trust === 'all' || lock) return;
  throw new RangeError(`trust is "${trust}", and there is no lock: give one as "lock"`);
}

/** @throws {RuntimeError} CONFIG_INVALID: the configuration has no such server, or it cannot be used */
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
