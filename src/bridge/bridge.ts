/**
 * A bridge: a session towards the host, a connection towards the server, and one correlation between
 * them. It is a server as `createMcpServer` makes one, whose upstream is a connection.
 *
 * @see docs/decisions/0055-the-bridge.md
 */
import { connect } from '../client/connect.ts';
import type { ConnectOptions } from '../client/connect.ts';
import type { ServerEntry } from '../client/connection/options.ts';
import type { Connection } from '../client/connection/connection.ts';
import { connectionLimitsWith } from '../client/connection/limits.ts';
import type { ServerDefinition } from '../define/definition.ts';
import type { Upstream, UpstreamClient } from '../define/upstream.ts';
import { createMcpServer } from '../server/create-server.ts';
import type { McpServer } from '../server/create-server.ts';
import { defaultLimits } from '../actors/limits.ts';
import { RuntimeError } from '../protocol/errors.ts';
import { BridgedServer } from './bridged-server.ts';

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
export interface BridgeOptions extends Omit<ConnectOptions, OfBridges> {
  /**
   * What the server has beside the bridged one: its own tools, resources, prompts and options. A tool
   * of the same name is in the place of the bridged one.
   */
  readonly definition?: Partial<Omit<ServerDefinition, 'upstream'>>;
  /** Gets what launched servers write to stderr. */
  readonly onStderr?: (text: string) => void;
}

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
 * ```
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry names no server, when its first client comes
 */
export function bridge(entry: ServerEntry, options: BridgeOptions = {}): McpServer {
  const { definition, onStderr, ...connecting } = options;
  const limits = { ...bridgeLimits, ...options.limits };
  connectionLimitsWith(limits);
  const server = { entry, options: { ...connecting, limits }, onStderr, isModernOnly: false };
  return createMcpServer({
    name: options.name ?? 'bridge',
    version: '0.1.0',
    ...definition,
    upstream: (client) => bridged(server, client),
  });
}

/** The server of a bridge, and what its clients have learnt of it. */
interface Behind {
  readonly entry: ServerEntry;
  readonly options: ConnectOptions;
  readonly onStderr: BridgeOptions['onStderr'];
  /** Whether it has refused `initialize`. */
  isModernOnly: boolean;
}

/** Why a server is not of the legacy era. */
const ofOtherEra: ReadonlySet<string> = new Set(['VERSION_UNSUPPORTED', 'PROTOCOL_VIOLATION']);

/**
 * Connects to the server for one client. A client of the legacy era that would have sent `initialize`
 * does so: a server of both eras then speaks the client's own.
 */
async function bridged(server: Behind, client: UpstreamClient): Promise<Upstream> {
  const { entry, options } = server;
  const { peer, signal } = client;
  const bridging = new BridgedServer(client, options);
  const given: ConnectOptions = {
    ...options,
    signal,
    clientInfo: peer.info,
    capabilities: peer.capabilities,
    listens: 'ready',
    ...bridging.hearing,
  };
  const over = (connection: Connection): Upstream => {
    connection.events$.subscribe((event) => {
      if (event.type === 'stderr') server.onStderr?.(event.text);
    });
    return bridging.over(connection);
  };
  if (bridging.era === 'modern' || options.era !== undefined || server.isModernOnly) {
    return over(await connect(entry, given));
  }
  try {
    return over(await connect(entry, { ...given, era: 'legacy' }));
  } catch (error) {
    if (!(error instanceof RuntimeError) || !ofOtherEra.has(error.code)) throw error;
    server.isModernOnly = true;
    return over(await connect(entry, given));
  }
}
