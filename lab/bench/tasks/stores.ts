/** Measured task stores, each a real server that persists what it acknowledges. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer, hasRedis } from '../../../packages/nodes/test/redis-server.ts';
import {
  PostgresServer,
  hasPostgres,
} from '../../../packages/tasks/test/postgres/postgres-server.ts';
import { cpuMsOf } from '../accounting.ts';

export interface OpenStore {
  /** Value of `durable`; undefined for none. */
  readonly where: string | undefined;
  /** CPU time of the store's processes, ms; 0 for a directory, which has none. */
  readonly cpuMs: number;
}

interface StoreKind {
  readonly name: string;
  /** True if available on this machine. */
  isThere(): boolean;
  open<T>(body: (store: OpenStore) => Promise<T>): Promise<T>;
}

/** CPU time including descendants. */
function cpuOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const ids = [pid, ...children.filter((id) => id !== '').map(Number)];
  return ids.reduce((sum, id) => sum + (cpuMsOf(id) ?? 0), 0);
}

/** In column order. */
export const storeKinds: readonly StoreKind[] = [
  {
    name: 'no store',
    isThere: () => true,
    open: (body) => body({ where: undefined, cpuMs: 0 }),
  },
  {
    name: 'SQLite',
    isThere: () => true,
    open: async (body) => {
      const where = await mkdtemp(join(tmpdir(), 'mcp-bench-'));
      try {
        return await body({ where, cpuMs: 0 });
      } finally {
        await rm(where, { recursive: true });
      }
    },
  },
  {
    name: 'Postgres',
    isThere: hasPostgres,
    open: async (body) => {
      const server = await PostgresServer.start(['fsync=on']);
      return withServer(server, body);
    },
  },
  {
    name: 'Redis',
    isThere: hasRedis,
    open: async (body) => withServer(await RedisServer.start({ durability: 'everything' }), body),
  },
];

async function withServer<T>(
  server: RedisServer | PostgresServer,
  body: (store: OpenStore) => Promise<T>,
): Promise<T> {
  try {
    return await body({
      where: server.url,
      get cpuMs() {
        return cpuOf(server.pid);
      },
    });
  } finally {
    await server.stop();
  }
}
