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
import { createMcpServer } from '../server/create-server.ts';
import type { McpServer } from '../server/create-server.ts';
import { defaultLimits } from '../actors/limits.ts';
import { BridgedEntry } from './bridged-entry.ts';

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
  const server = new BridgedEntry(entry, { ...connecting, limits, onStderr });
  return createMcpServer({
    name: options.name ?? 'bridge',
    version: '0.1.0',
    ...definition,
    upstream: (client) => server.open(client),
  });
}
