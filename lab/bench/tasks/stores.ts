/** The stores that tasks are measured with, each a real server of its own that keeps what it has acknowledged. */
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
  /** What `durable` is; undefined if there is none. */
  readonly where: string | undefined;
  /** What its processes have used, milliseconds; of a directory nothing is apart from the server's. */
  readonly cpuMs: number;
}

interface StoreKind {
  readonly name: string;
  /** Whether it can be had on this machine. */
  isThere(): boolean;
  open<T>(body: (store: OpenStore) => Promise<T>): Promise<T>;
}

/** With a process and those that it has started. */
function cpuOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const ids = [pid, ...children.filter((id) => id !== '').map(Number)];
  return ids.reduce((sum, id) => sum + (cpuMsOf(id) ?? 0), 0);
}

/** In the order of the columns. */
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
