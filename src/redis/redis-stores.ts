import { refuseDuration } from '../actors/clock.ts';
import { storeLimits } from '../http/nodes/stores.ts';
import type { StoreLimits, Stores } from '../http/nodes/stores.ts';
import { RedisConnection } from './connection.ts';
import type { RedisConnectionOptions } from './connection.ts';
import { Keys } from './keys.ts';
import { countScripts, redisCounts } from './redis-counts.ts';
import { RedisDirectory, directoryScripts } from './redis-directory.ts';
import { RedisInbox, inboxScripts, silenceMs } from './redis-inbox.ts';
import { RedisLog, logScripts } from './redis-log.ts';

/** Which Redis the nodes share, and how it is reached: by a `url`, or by a ready client. */
export interface RedisStoresOptions extends Partial<
  Omit<RedisConnectionOptions, 'silenceMs' | 'reconnectMs'>
> {
  /** Before every key; nodes with the same one share. Default `mcp:`. */
  readonly prefix?: string;
  /** Time without a sign of life after which a node is taken to be dead, milliseconds. */
  readonly leaseMs?: number;
  /** The most that waits in the inbox of one node, bytes. */
  readonly maxInboxBytes?: number;
  /** Bounds and times; what is left out has its default. */
  readonly limits?: Partial<StoreLimits>;
}

/** The defaults of how Redis is spoken to. */
export const defaultRedisOptions = {
  prefix: 'mcp:',
  commandTimeoutMs: 1000,
  maxCommands: 10_000,
  maxCommandBytes: 64 * 1024 * 1024,
  maxInboxBytes: 64 * 1024 * 1024,
  leaseMs: 10_000,
} as const;

const times = ['commandTimeoutMs', 'leaseMs'] as const;

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
  for (const name of times) refuseDuration(name, options[name]);
  const { leaseMs, commandTimeoutMs } = options;
  const limits = storeLimits(given.limits);
  const keys = new Keys(options.prefix);
  const scripts = [...directoryScripts, ...logScripts, ...inboxScripts, ...countScripts];
  // After Redis has lost its data, a node has the time of a lease to put back what it knows.
  const reconnectMs = Math.min(2000, leaseMs / 4);
  const spoken = { ...options, reconnectMs, silenceMs: silenceMs(leaseMs, commandTimeoutMs) };
  const connection = new RedisConnection(spoken, scripts);
  const reader = connection.another();
  const close = () => {
    reader.close();
    connection.close();
  };
  try {
    await Promise.all([connection.open(), reader.open()]);
  } catch (error) {
    close();
    throw error;
  }
  return {
    leaseMs,
    directory: new RedisDirectory(connection, keys, { leaseMs, idleMs: limits.idleMs }),
    log: new RedisLog(connection, keys, limits),
    inbox: new RedisInbox(connection, reader, keys, options),
    counts: redisCounts(connection, keys),
    close: async () => close(),
  };
}
