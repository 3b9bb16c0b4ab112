import { assertDuration } from '../../../src/actors/clock.ts';
import { storeLimits } from '../../http/src/nodes/stores.ts';
import type { StoreLimits, Stores } from '../../http/src/nodes/stores.ts';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { RedisConnection } from './connection.ts';
import type { RedisConnectionOptions } from './connection.ts';
import { Keys } from './keys.ts';
import { RedisBroadcasts, broadcastScripts } from './redis-broadcasts.ts';
import { countScripts, redisCounts } from './redis-counts.ts';
import { RedisDirectory, directoryScripts } from './redis-directory.ts';
import { RedisLog, logScripts } from './redis-log.ts';

/** Connection to the shared Redis, by `url` or with a ready client, and limits of the stores. */
export interface RedisStoresOptions extends Partial<
  Omit<RedisConnectionOptions, 'socketTimeoutMs' | 'maxReconnectMs' | 'isSubscriber'>
> {
  /** Prefix of all keys; nodes with the same prefix share sessions. Default `mcp:`. */
  readonly prefix?: string;
  /** Time without renewal after which a node is considered dead, milliseconds. Default 10 s. */
  readonly leaseMs?: number;
  /** Limits of the stores; missing ones have defaults. */
  readonly limits?: Partial<StoreLimits>;
}

/** Default options of a Redis connection. */
export const defaultRedisOptions = {
  prefix: 'mcp:',
  commandTimeoutMs: 1000,
  maxCommands: 10_000,
  maxCommandBytes: 64 * 1024 * 1024,
  leaseMs: 10_000,
} as const;

const durations = ['commandTimeoutMs', 'leaseMs'] as const;

/**
 * Opens stores that share sessions through Redis 6.2 or newer. Redis must not evict keys
 * (`maxmemory-policy noeviction`).
 *
 * Data is as durable as Redis makes it. After Redis lost its data, live nodes restore their
 * sessions.
 *
 * @throws {StoreUnavailable} if Redis cannot be reached
 * @throws {RangeError} if an option is invalid
 */
export async function redisStores(given: RedisStoresOptions): Promise<Stores> {
  const options = { ...defaultRedisOptions, ...given };
  for (const name of durations) assertDuration(name, options[name]);
  const { leaseMs, commandTimeoutMs } = options;
  const limits = storeLimits(given.limits);
  const keys = new Keys(options.prefix);
  const scripts = [...directoryScripts, ...logScripts, ...broadcastScripts, ...countScripts];
  // After a data loss, nodes have one lease time to restore their sessions.
  const maxReconnectMs = Math.min(2000, leaseMs / 4);
  // Live nodes renew their lease on one connection and ping on the other, so longer silence means a
  // dead connection.
  const connectionOptions = {
    ...options,
    maxReconnectMs,
    socketTimeoutMs: leaseMs + 2 * commandTimeoutMs,
  };
  const connection = new RedisConnection(connectionOptions, scripts);
  const subscriber = connection.forSubscriber();
  const close = () => {
    subscriber.close();
    connection.close();
  };
  try {
    await Promise.all([connection.open(), subscriber.open()]);
  } catch (error) {
    close();
    throw error;
  }
  const broadcasts = new RedisBroadcasts(connection, subscriber, keys);
  const times = { leaseMs, idleMs: limits.idleMs };
  return {
    leaseMs,
    directory: new RedisDirectory(connection, keys, times, (...known) =>
      broadcasts.check(...known),
    ),
    log: new RedisLog(connection, keys, limits),
    broadcasts,
    counts: redisCounts(connection, keys),
    localAddress: () => localAddressOf(connection),
    close: async () => close(),
  };
}

/** Local address of packets to Redis. */
async function localAddressOf(connection: RedisConnection): Promise<string | undefined> {
  const { target } = connection;
  if (target) return routeTo(target.host, target.port);
  // Clusters and Sentinels report the client's address.
  const info = await connection.command(['CLIENT', 'INFO']);
  const [, address] = /\baddr=\[?([^\s\]]+)\]?:\d+/.exec(String(info)) ?? [];
  return address;
}

/**
 * Local address of packets to a host. Sends none: connecting a UDP socket only looks up the route.
 */
async function routeTo(host: string, port: number): Promise<string> {
  for (const type of ['udp4', 'udp6'] as const) {
    const socket = createSocket(type);
    try {
      socket.connect(port, host);
      await once(socket, 'connect');
      return socket.address().address;
    } catch (error) {
      if (type === 'udp6') throw error;
    } finally {
      socket.close();
    }
  }
  throw new Error('unreachable');
}
