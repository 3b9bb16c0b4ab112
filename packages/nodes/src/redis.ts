/** Sessions and tasks of several processes, shared by way of Redis: `mcp-actors/redis`. */
export { redisStores } from './redis-stores.ts';
export type { RedisStoresOptions } from './redis-stores.ts';
export { redisTaskStore } from './redis-task-store.ts';
export type { RedisTaskStoreOptions } from './redis-task-store.ts';
