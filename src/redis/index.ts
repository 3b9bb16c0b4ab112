/** Sessions of several processes, shared by way of Redis: `mcp-actors/redis`. */
export { redisStores } from './redis-stores.ts';
export type { RedisStoresOptions } from './redis-stores.ts';
