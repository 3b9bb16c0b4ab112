/** Each kind of store for real, with nodes that share it: a directory, a Postgres and a Redis of their own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject, Limits, Task, TaskStore } from 'mcp-actors';
import { scriptedConversation, enveloped, flush } from 'mcp-actors/testing';
import { onTestFinished } from 'vitest';
import type { TestContext } from 'vitest';
import { postgresTaskStore } from '../../nodes/src/postgres/index.ts';
import { redisTaskStore } from '../../nodes/src/redis.ts';
import { SessionlessTasks } from '../../../src/server/task-resumer.actor.ts';
import { openTaskWorker } from '../../serve/src/open-task-worker.ts';
import { sqliteTaskStore } from '../src/sqlite/sqlite-task-store.ts';
import { RedisServer, needsRedis } from '../../nodes/test/redis-server.ts';
import { PostgresServer, needsPostgres } from './postgres/postgres-server.ts';
import { capabilities } from './task-world.ts';

/** What nodes share. */
export interface SharedStore {
  /** A node's own way to it. */
  node(): Promise<TaskStore>;
  close(): Promise<unknown>;
}

interface StoreKind {
  readonly kind: string;
  needs(context: TestContext): void;
  open(): Promise<SharedStore>;
}

export const storeKinds: readonly StoreKind[] = [
  {
    kind: 'SQLite',
    needs: () => {},
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'mcp-nodes-'));
      return {
        node: () => sqliteTaskStore(directory),
        close: () => rm(directory, { recursive: true }),
      };
    },
  },
  {
    kind: 'Postgres',
    needs: needsPostgres,
    async open() {
      const server = await PostgresServer.start();
      return {
        node: () => postgresTaskStore({ url: server.url }),
        close: () => server.stop(),
      };
    },
  },
  {
    kind: 'Redis',
    needs: needsRedis,
    async open() {
      const server = await RedisServer.start();
      return {
        node: () => redisTaskStore({ url: server.url }),
        close: () => server.stop(),
      };
    },
  },
];

/** Bounds and keys of a node, and the name of its server. */
interface NodeSettings {
  readonly name?: string;
  readonly stateKeys?: readonly string[];
  readonly limits?: Partial<Limits>;
}

type Tools = NonNullable<Parameters<typeof createMcpServer>[0]['tools']>;

/** Starts a node with a client of 2026-07-28. It ends with the test. */
export async function startNode(
  shared: SharedStore,
  tools: Tools,
  { name = 'shop', limits = {}, ...keys }: NodeSettings = {},
) {
  const server = createMcpServer({ name, version: '1.0.0', tools, ...keys });
  const facts: string[] = [];
  const report = (fact: { readonly name: string }) => void facts.push(fact.name);
  const store = await shared.node();
  const worker = await openTaskWorker(store, server, {
    report,
    limits: { maxRestarts: 5, maxTasks: 64, ...limits },
    resumer: (by) => new SessionlessTasks(server, by, { report, limits }),
  });
  const { peer, session } = scriptedConversation(server, { durable: worker, limits });
  let id = 0;
  const request = async (method: string, params: JsonObject) => {
    peer.send(enveloped(++id, method, params, { capabilities }));
    return await peer.response(id);
  };
  const ask = async (method: string, params: JsonObject): Promise<JsonObject> =>
    (await request(method, params)).result as JsonObject;
  let isEnded = false;
  /** Ends the node: its tasks are left to others. */
  const end = async () => {
    if (isEnded) return;
    isEnded = true;
    session.shutdown('the node ends', 0);
    await session.closed;
    await worker.close();
  };
  onTestFinished(end);
  const begin = async (tool: string, args: JsonObject = {}) =>
    (await ask('tools/call', { name: tool, arguments: args })) as unknown as Task;
  const look = ({ taskId }: Pick<Task, 'taskId'>) => ask('tasks/get', { taskId });
  /** Looks until the task is so. */
  const sees = async (task: Pick<Task, 'taskId'>, isSo: (seen: JsonObject) => boolean) => {
    for (;;) {
      const seen = await look(task);
      if (isSo(seen)) return seen;
      await flush();
    }
  };
  return { store, worker, peer, facts, request, ask, begin, look, sees, end };
}
