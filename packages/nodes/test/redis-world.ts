import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createClient } from 'redis';
import type { Stores } from '../../http/src/index.ts';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import { redisStores } from '../src/redis.ts';
import type { RedisServer } from './redis-server.ts';

/** Keys without a time to live. */
async function keysWithoutEnd(url: string, prefix: string): Promise<string[]> {
  const client = await createClient({ url }).connect();
  const keys = await client.keys(`${prefix}*`);
  const times = await Promise.all(keys.map((key) => client.pTTL(key)));
  client.destroy();
  return keys.filter((_, n) => times[n] === -1);
}

/** Worlds of nodes on one Redis. Each has its own key prefix and leaves only keys that expire. */
export function redisWorlds(redis: () => RedisServer): OpenStoresWorld {
  return async (limits) => {
    const { url } = redis();
    const prefix = `${randomUUID()}:`;
    const nodes: Stores[] = [];
    return {
      start: async () => {
        // Longer than a busy machine needs for the test.
        const node = await redisStores({ url, prefix, leaseMs: 2500, ...(limits && { limits }) });
        nodes.push(node);
        return node;
      },
      // The server's time cannot be controlled.
      elapse: (ms) => setTimeout(ms),
      close: async () => {
        await Promise.all(nodes.map((node) => node.close()));
        const forever = await keysWithoutEnd(url, prefix);
        if (forever.length > 0) throw new Error(`These never expire: ${forever.join(', ')}`);
      },
    };
  };
}
