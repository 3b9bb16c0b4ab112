import { cp, mkdtemp, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskStore } from 'mcp-actors';
import { taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadSqlite } from '../../src/sqlite/sqlite.ts';
import { sqliteTaskStore } from '../../src/sqlite/sqlite-task-store.ts';

async function openWorld(): Promise<TaskStoreWorld> {
  const directory = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
  const stores: TaskStore[] = [];
  let now = 1_700_000_000_000;
  return {
    async start() {
      const store = await sqliteTaskStore(directory, { leaseMs: 500, now: () => now });
      stores.push(store);
      return store;
    },
    async elapse(ms) {
      now += ms;
    },
    async close() {
      for (const store of stores) await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

describe('tasks in a directory', () => {
  for (const { name, check } of taskStoreContract) test(name, () => check(openWorld));

  test('a write that was torn has no effect, and takes nothing with it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [whole, torn] = [join(directory, 'whole'), join(directory, 'torn')];
    const store = await sqliteTaskStore(whole);
    const task = { server: 'shop', owner: 'a', text: 'x'.repeat(9000), ttlMs: 60_000 };
    for (const taskId of ['t1', 't2', 't3']) await store.create({ ...task, taskId });
    await cp(whole, torn, { recursive: true });
    await store.close();
    const log = join(torn, 'tasks.db-wal');
    await truncate(log, (await stat(log)).size - 100);
    const after = await sqliteTaskStore(torn);
    const texts = ['t1', 't2', 't3'].map(async (id) => (await after.read(id))?.record.text);
    expect(await Promise.all(texts)).toEqual([task.text, task.text, undefined]);
    await after.create({ ...task, taskId: 't3' });
    await after.close();
  });

  test('a directory of a later version is refused', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    await (await sqliteTaskStore(directory)).close();
    const open = await loadSqlite();
    const database = open(join(directory, 'tasks.db'), 0);
    database.exec('PRAGMA user_version = 9');
    database.close();
    await expect(sqliteTaskStore(directory)).rejects.toThrow('in format 9');
  });
});
