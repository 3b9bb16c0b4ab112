/**
 * Three nodes with one task store in storms: each is killed, stopped for longer than its lease, or
 * cut off from the store. The nightly run has three storms per store; `npm run lab -- task-storms`
 * has a hundred, and `STORMS=5 SEED=7` five, starting with seed 7.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { reapServers } from '../../test/e2e/server-process.ts';
import { RedisServer, needsRedis } from '../../packages/nodes/test/redis-server.ts';
import {
  PostgresServer,
  needsPostgres,
} from '../../packages/tasks/test/postgres/postgres-server.ts';
import { isLong } from '../../test/tooling/long-run.ts';
import { StoreProxy } from '../../test/tooling/store-proxy.ts';
import { taskStorm } from '../storms/tasks/task-storm.ts';
import type { StormStore } from '../storms/tasks/task-storm.ts';

/** Number of faults per storm. */
const most = 3;

const first = Number(process.env['SEED'] ?? 1);
const seeds = Array.from({ length: Number(process.env['STORMS'] ?? 3) }, (_, at) => first + at);

/** Nodes on three machines. */
const farNodes = {
  clocksMs: [0, 1_200_000, -1_200_000],
  faults: ['kill', 'stop', 'cut'],
} as const satisfies Partial<StormStore>;

afterEach(reapServers);

async function wayTo(port: number, urlOf: (port: number) => string) {
  const proxy = await StoreProxy.to(port);
  onTestFinished(() => proxy.close());
  return { url: urlOf(proxy.port), proxy };
}

async function blows(seed: number, store: StormStore): Promise<void> {
  const history = await taskStorm(seed, store, most);
  expect(history.violations, history.report).toEqual([]);
}

describe.runIf(isLong || process.env['STORMS'])('a storm breaks no guarantee of tasks', () => {
  test.each(seeds)(
    'in a directory, seed %d',
    async (seed) => {
      const directory = await mkdtemp(join(tmpdir(), 'mcp-storm-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      const oneMachine = { clocksMs: [0, 0, 0], faults: ['kill', 'stop'] } as const;
      await blows(seed, { ...oneMachine, wayOf: async () => ({ url: directory }) });
    },
    1_200_000,
  );

  describe('in Redis', () => {
    beforeEach(needsRedis);
    test.each(seeds)(
      'seed %d',
      async (seed) => {
        const server = await RedisServer.start();
        onTestFinished(() => server.stop());
        const urlOf = (port: number) => `redis://127.0.0.1:${port}`;
        await blows(seed, { ...farNodes, wayOf: () => wayTo(server.port, urlOf) });
      },
      1_200_000,
    );
  });

  describe('in Postgres', () => {
    beforeEach(needsPostgres);
    test.each(seeds)(
      'seed %d',
      async (seed) => {
        const server = await PostgresServer.start();
        onTestFinished(() => server.stop());
        const { default: pg } = (await import('pg' as string)) as {
          readonly default: { readonly Client: new (url: string) => Client };
        };
        const client = new pg.Client(server.url);
        await client.connect();
        onTestFinished(() => client.end());
        await client.query('CREATE TABLE effects (task text, key text)');
        const urlOf = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`;
        const counted = `SELECT task || ' ' || key AS what, count(*)::int AS times FROM effects GROUP BY 1`;
        await blows(seed, {
          ...farNodes,
          wayOf: () => wayTo(server.port, urlOf),
          effects: async () => (await client.query(counted)).rows,
        });
      },
      1_200_000,
    );
  });
});

interface Client {
  connect(): Promise<void>;
  end(): Promise<void>;
  query(text: string): Promise<{ readonly rows: { what: string; times: number }[] }>;
}
