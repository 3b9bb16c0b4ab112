import { cp, mkdtemp, open, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskStore } from 'mcp-actors';
import { taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { gate, turn } from 'mcp-actors/testing';
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

  test('what was written and what is read settle once the log is on the disk, many by one sync', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const store = await sqliteTaskStore(directory);
    onTestFinished(() => store.close());
    const any = await open(join(directory, 'tasks.db-wal'));
    const handles = Object.getPrototypeOf(any) as typeof any;
    await any.close();
    const disk = gate();
    const { datasync } = handles;
    const sync = vi.spyOn(handles, 'datasync').mockImplementation(async function (
      this: typeof any,
    ) {
      await disk.pass();
      return datasync.call(this);
    });
    const task = { server: 'shop', owner: 'a', text: 'begun', ttlMs: 60_000 };
    const settled: string[] = [];
    const begun = ['t1', 't2', 't3'].map(async (taskId) => {
      await store.create({ ...task, taskId });
      settled.push(taskId);
    });
    const reading = store.read('t1').then(() => settled.push('read'));
    await turn();
    expect([settled, sync.mock.calls.length]).toEqual([[], 1]);
    disk.release();
    await Promise.all([...begun, reading]);
    expect(sync.mock.calls.length).toBeLessThanOrEqual(2);
    sync.mockRejectedValueOnce(new Error('the disk is gone'));
    await expect(store.create({ ...task, taskId: 't4' })).rejects.toThrow('the disk is gone');
    await store.create({ ...task, taskId: 't5' });
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
