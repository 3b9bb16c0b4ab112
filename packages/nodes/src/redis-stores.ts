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

/** Which Redis the nodes share, and how it is reached: by a `url`, or by a ready client. */
export interface RedisStoresOptions extends Partial<
  Omit<RedisConnectionOptions, 'silenceMs' | 'reconnectMs' | 'isSubscriber'>
> {
  /** Before every key; nodes with the same one share. Default `mcp:`. */
  readonly prefix?: string;
  /** Time without a sign of life after which a node is taken to be dead, milliseconds. */
  readonly leaseMs?: number;
  /** Bounds and times; what is left out has its default. */
  readonly limits?: Partial<StoreLimits>;
}

/** The defaults of how Redis is spoken to. */
export const defaultRedisOptions = {
  prefix: 'mcp:',
  commandTimeoutMs: 1000,
  maxCommands: 10_000,
  maxCommandBytes: 64 * 1024 * 1024,
  leaseMs: 10_000,
} as const;

const durations = ['commandTimeoutMs', 'leaseMs'] as const;

/**
 * The stores of a node that shares its sessions with others by way of Redis, version 6.2 or newer. It
 * must not evict keys (`maxmemory-policy noeviction`).
 *
 * What it has told is as durable as Redis makes it. If Redis has lost its data, the nodes that live
 * put their sessions back.
 *
 * @throws {StoreUnavailable} Redis cannot be reached
 * @throws {RangeError} an option that cannot be
 */
export async function redisStores(given: RedisStoresOptions): Promise<Stores> {
  const options = { ...defaultRedisOptions, ...given };
  for (const name of durations) assertDuration(name, options[name]);
  const { leaseMs, commandTimeoutMs } = options;
  const limits = storeLimits(given.limits);
  const keys = new Keys(options.prefix);
  const scripts = [...directoryScripts, ...logScripts, ...broadcastScripts, ...countScripts];
  // After Redis has lost its data, a node has the time of a lease to put back what it knows.
  const reconnectMs = Math.min(2000, leaseMs / 4);
  // A node that lives renews its lease on one connection, and sends signs of life on the other.
  const spoken = { ...options, reconnectMs, silenceMs: leaseMs + 2 * commandTimeoutMs };
  const connection = new RedisConnection(spoken, scripts);
  const subscriber = connection.another();
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

/** The address that packets to Redis leave from. */
async function localAddressOf(connection: RedisConnection): Promise<string | undefined> {
  const { target } = connection;
  if (target) return routeTo(target.host, target.port);
  // A cluster or a Sentinel says where the client comes from.
  const info = await connection.command(['CLIENT', 'INFO']);
  const [, address] = /\baddr=\[?([^\s\]]+)\]?:\d+/.exec(String(info)) ?? [];
  return address;
}

/** The address of this machine that packets to another leave from. None is sent: UDP only looks the route up. */
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
