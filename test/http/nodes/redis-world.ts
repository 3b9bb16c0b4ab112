import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createClient } from 'redis';
import type { OpenStoresWorld } from 'mcp-actors/testing';
import { RedisNode } from '../../../src/redis/redis-stores.ts';
import type { RedisServer } from './redis-server.ts';

/** Keys that would stay for ever. */
async function keysWithoutEnd(url: string, prefix: string): Promise<string[]> {
  const client = await createClient({ url }).connect();
  const keys = await client.keys(`${prefix}*`);
  const times = await Promise.all(keys.map((key) => client.pTTL(key)));
  client.destroy();
  return keys.filter((_, n) => times[n] === -1);
}

/** Worlds of nodes that share one Redis. Each has keys of its own, and leaves none that does not expire. */
export function redisWorlds(redis: () => RedisServer): OpenStoresWorld {
  return async (limits) => {
    const { url } = redis();
    const prefix = `${randomUUID()}:`;
    const nodes = new Map<string, RedisNode>();
    const client = await createClient({ url }).connect();
    return {
      start: async () => {
        // The lease is also how often a follower looks whether its writer lives.
        const node = new RedisNode({ url, prefix, leaseMs: 3000, ...(limits && { limits }) });
        await node.open();
        nodes.set(node.node, node);
        return node;
      },
      kill: async ({ node }) => {
        nodes.get(node)?.kill();
        // Its lease has ended.
        await client.del(`${prefix}{node:${node}}:alive`);
      },
      // The time is the server's, and cannot be driven.
      elapse: (ms) => setTimeout(ms),
      close: async () => {
        await Promise.all([...nodes.values()].map((node) => node.close()));
        client.destroy();
        const forever = await keysWithoutEnd(url, prefix);
        if (forever.length > 0) throw new Error(`These never expire: ${forever.join(', ')}`);
      },
    };
  };
}
