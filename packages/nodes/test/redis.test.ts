import { afterAll, beforeAll, describe, test } from 'vitest';
import { storesContract } from 'mcp-actors/testing';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';
import { redisWorlds } from './redis-world.ts';

let redis: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(() => redis?.stop());

const openWorld = redisWorlds(() => {
  if (!redis) throw new Error('Redis has not been started');
  return redis;
});

describe('nodes that share a Redis', () => {
  for (const { name, check } of storesContract) {
    test(name, async (context) => {
      needsRedis(context);
      await check(openWorld);
    });
  }
});
