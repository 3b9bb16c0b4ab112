/** Sessions and tasks of several processes, shared by way of Postgres: `mcp-actors/postgres`. */
export { postgresTaskStore } from '../../../tasks/src/postgres/postgres-task-store.ts';
export type { PostgresTaskStoreOptions } from '../../../tasks/src/postgres/postgres-task-store.ts';
export { postgresTaskMigrations } from '../../../tasks/src/postgres/migrations.ts';
export type { PostgresPool } from '../../../tasks/src/postgres/postgres.ts';
export { postgresStores } from './postgres-stores.ts';
export type { PostgresStoresOptions } from './postgres-stores.ts';
