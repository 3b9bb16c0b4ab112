/** Tasks in Postgres, for any number of nodes: `mcp-actors/postgres`. */
export { postgresTaskStore } from './postgres-task-store.ts';
export type { PostgresTaskStoreOptions } from './postgres-task-store.ts';
export { postgresTaskMigrations } from './migrations.ts';
export type { PostgresPool } from './postgres.ts';
