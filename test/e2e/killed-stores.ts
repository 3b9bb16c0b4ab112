/** Stores for tests that kill processes, created per test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';
import {
  PostgresServer,
  needsPostgres,
} from '../../packages/tasks/test/postgres/postgres-server.ts';
import { RedisServer, needsRedis } from '../../packages/nodes/test/redis-server.ts';

export interface KilledStore {
  readonly name: string;
  /** Skips the test if there is no such store here. */
  needs(context: TestContext): void;
  /** Creates an empty store. @returns its location, removed after the test */
  open(): Promise<string>;
  /** True if the death of a process is noticed immediately. */
  readonly isKnownAtOnce: boolean;
  /**
   * Number of clients that kill concurrently, each with its own store: most of the time is spent on
   * starting processes and expiring leases.
   */
  readonly lanes: number;
}

export const killedStores: readonly KilledStore[] = [
  {
    name: 'SQLite',
    needs: () => {},
    open: async () => {
      const state = await mkdtemp(join(tmpdir(), 'mcp-kills-'));
      onTestFinished(() => rm(state, { recursive: true }));
      return state;
    },
    isKnownAtOnce: true,
    lanes: 2,
  },
  {
    name: 'Postgres',
    needs: needsPostgres,
    open: async () => {
      const server = await PostgresServer.start();
      onTestFinished(() => server.stop());
      return server.url;
    },
    isKnownAtOnce: false,
    lanes: 4,
  },
  {
    name: 'Redis',
    needs: needsRedis,
    open: async () => {
      const server = await RedisServer.start();
      onTestFinished(() => server.stop());
      return server.url;
    },
    isKnownAtOnce: false,
    lanes: 4,
  },
];
