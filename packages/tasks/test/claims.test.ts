/** What nodes ask of a store while they share what is due: counted, because how long it takes says more of the machine. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskStore } from 'mcp-actors';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TestContext } from 'vitest';
import { postgresTaskStore } from '../../nodes/src/postgres/index.ts';
import type { PostgresPool } from '../../nodes/src/postgres/index.ts';
import { redisTaskStore } from '../../nodes/src/redis.ts';
import { sqliteTaskStore } from '../src/sqlite/sqlite-task-store.ts';
import { RedisServer, needsRedis } from '../../nodes/test/redis-server.ts';
import { PostgresServer, needsPostgres } from './postgres/postgres-server.ts';

const due = 120;
const max = 10;

interface ClaimedStore {
  /** A node with a connection of its own. */
  node(): Promise<TaskStore>;
  /** How many commands the store has been given so far. */
  commands(): Promise<number>;
}

interface StoreKind {
  readonly name: string;
  needs(context: TestContext): void;
  open(): Promise<ClaimedStore>;
  /** At most so many commands for each claim, beside those for each task that it brings. */
  readonly aClaim: number;
  readonly aTask: number;
}

const kinds: readonly StoreKind[] = [
  {
    name: 'SQLite',
    needs: () => {},
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'mcp-claims-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      // A claim is one transaction of its process.
      return { node: () => sqliteTaskStore(directory), commands: async () => 0 };
    },
    aClaim: 0,
    aTask: 0,
  },
  {
    name: 'Postgres',
    needs: needsPostgres,
    async open() {
      const server = await PostgresServer.start();
      onTestFinished(() => server.stop());
      const { default: pg } = (await import('pg' as string)) as {
        readonly default: { readonly Pool: new (settings: object) => PostgresPool };
      };
      let asked = 0;
      return {
        async node() {
          const pool = new pg.Pool({ connectionString: server.url });
          onTestFinished(() => pool.end());
          const query = pool.query.bind(pool);
          Object.assign(pool, {
            query: (...args: Parameters<typeof query>) => {
              // News are told once for many claims.
              if (!args[0].includes('NOTIFY')) asked++;
              return query(...args);
            },
          });
          return postgresTaskStore({ pool });
        },
        commands: async () => asked,
      };
    },
    // To claim, to read what was claimed, and to look when the next one is due.
    aClaim: 3,
    aTask: 0,
  },
  {
    name: 'Redis',
    needs: needsRedis,
    async open() {
      const server = await RedisServer.start();
      onTestFinished(() => server.stop());
      return {
        node: () => redisTaskStore({ url: server.url }),
        async commands() {
          const stats = String(await server.ask('INFO', 'commandstats'));
          return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
        },
      };
    },
    // To find what is free, and to note what has become of it. Each task may be on a master of its own.
    aClaim: 2,
    aTask: 1,
  },
];

describe.each(kinds)('claims in $name', ({ needs, open, aClaim, aTask }) => {
  beforeEach((context) => needs(context));

  test.each([1, 2, 3])('%i concurrent workers make no futile claims', async (count) => {
    const store = await open();
    const nodes = await Promise.all(Array.from({ length: count }, () => store.node()));
    onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.close()))));
    const [first] = nodes as [TaskStore];
    await Promise.all(nodes.map((node, at) => node.lease(`n${at}`)));
    for (let n = 0; n < due; n++) {
      const task = { taskId: `t${n}`, server: 'shop', owner: 'n0', text: '{}', ttlMs: 600_000 };
      await first.append(await first.create(task), { steps: [], parkForMs: 0 });
    }
    const before = await store.commands();
    let claims = 0;
    const taken: string[] = [];
    const untilNone = async (node: TaskStore, at: number): Promise<void> => {
      for (;;) {
        claims++;
        const { tasks } = await node.claim({ owner: `n${at}`, server: 'shop', max });
        if (tasks.length === 0) return;
        taken.push(...tasks.map(({ taskId }) => taskId));
      }
    };
    await Promise.all(nodes.map(untilNone));
    expect(new Set(taken).size).toBe(due);
    // Each task was given once, and each claim was full but for the last two of each node.
    expect(taken).toHaveLength(due);
    expect(claims).toBeLessThanOrEqual(due / max + 2 * count);
    const asked = (await store.commands()) - before;
    expect(asked).toBeLessThanOrEqual(aClaim * claims + aTask * due);
  });
});
