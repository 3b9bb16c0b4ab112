/** `mcp-actors/redis`: sessions and tasks shared by several processes through Redis. */
export { redisStores } from './redis-stores.ts';
export type { RedisStoresOptions } from './redis-stores.ts';
export { redisTaskStore } from './redis-task-store.ts';
export type { RedisTaskStoreOptions } from './redis-task-store.ts';
