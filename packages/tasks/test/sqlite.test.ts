import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  open,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { TaskStore } from 'mcp-actors';
import { openTaskStore } from 'mcp-actors/serve';
import { taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { gate, flush } from 'mcp-actors/testing';
import { openTaskWorker } from '../../serve/src/open-task-worker.ts';
import { loadSqlite } from '../src/sqlite/sqlite.ts';
import { sqliteTaskStore } from '../src/sqlite/sqlite-task-store.ts';

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

  test('a torn write has no effect, and damages no other', async () => {
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

  test('reads and writes settle once the log is on disk, many per sync', async () => {
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
    await flush();
    expect([settled, sync.mock.calls.length]).toEqual([[], 1]);
    disk.release();
    await Promise.all([...begun, reading]);
    expect(sync.mock.calls.length).toBeLessThanOrEqual(2);
    sync.mockRejectedValueOnce(new Error('the disk is gone'));
    await expect(store.create({ ...task, taskId: 't4' })).rejects.toThrow('the disk is gone');
    await store.create({ ...task, taskId: 't5' });
  });

  test('rejects a directory of a later version', async () => {
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

describe('the directory of tasks', () => {
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);
  const modesIn = (state: string) =>
    Promise.all(
      ['', 'tasks.db', 'tasks.db-wal', 'owners'].map((name) => modeOf(join(state, name))),
    );
  const task = { taskId: 't1', server: 'shop', owner: 'a', text: '{}', ttlMs: 60_000 };

  /** A directory within one that the test removes. */
  async function within(mode?: number) {
    const parent = await mkdtemp(join(tmpdir(), 'mcp-tasks-'));
    onTestFinished(() => rm(parent, { recursive: true, force: true }));
    const state = join(parent, 'state');
    if (mode !== undefined) {
      await mkdir(state);
      await chmod(state, mode);
    }
    return state;
  }

  async function opened(state: string, options: Parameters<typeof openTaskStore>[1] = {}) {
    const store = await openTaskStore(state, options);
    onTestFinished(() => store.close());
    await store.lease('a');
    return store;
  }

  test('is created for its user only, with all its files', async () => {
    const state = await within();
    await opened(state);
    expect(await modesIn(state)).toEqual(['700', '600', '600', '700']);
    expect(await modeOf(join(state, 'owners/a.db'))).toBe('600');
  });

  test('of an earlier version gets stricter modes', async () => {
    const state = await within(0o755);
    await (await openTaskStore(state, { insecure: true })).close();
    await chmod(join(state, 'tasks.db'), 0o644);
    await opened(state);
    expect(await modesIn(state)).toEqual(['700', '600', '600', '700']);
  });

  test('with other files keeps its mode, and its tasks get stricter modes', async () => {
    const state = await within(0o755);
    await writeFile(join(state, 'package.json'), '{}');
    await opened(state);
    expect(await modesIn(state)).toEqual(['755', '600', '600', '700']);
  });

  test('with setgid keeps its group permissions, and a server warns', async () => {
    const state = await within(0o2775);
    const reported: unknown[] = [];
    const server = createMcpServer({ name: 'shop', version: '1.0.0' });
    const worker = await openTaskWorker(state, server, { report: (fact) => reported.push(fact) });
    onTestFinished(() => worker.close());
    expect(await modesIn(state)).toEqual(['2770', '660', '660', '2770']);
    expect(reported).toMatchObject([{ level: 'warning', name: 'tasks.exposed' }]);
  });

  test('that is world-writable is rejected, unless allowed explicitly', async () => {
    const state = await within(0o777);
    await expect(openTaskStore(state)).rejects.toThrow(
      'must not be writable by everybody, got mode 777',
    );
    await opened(state, { insecure: true });
    expect(await modeOf(state)).toBe('777');
  });

  test('of another user is rejected, unless allowed explicitly', async (context) => {
    if (process.getuid?.() !== 0) context.skip('only root gives a directory to another user');
    const state = await within(0o700);
    await chown(state, 4242, 4242);
    await expect(openTaskStore(state)).rejects.toThrow(
      'must belong to this user (0) or to root, got 4242',
    );
    await opened(state, { insecure: true });
  });

  test.each([
    ['removed', () => {}],
    ['removed and made again by another process', openTaskStore],
  ])('%s while in use fails every later write, read, lease and close', async (_, andThen) => {
    const state = await within();
    const store = await openTaskStore(state);
    await store.lease('a');
    const claim = await store.create(task);
    await rm(state, { recursive: true });
    const other = await andThen(state);
    onTestFinished(() => other?.close());
    const refused = 'was removed or replaced while in use';
    await expect(store.lease('a')).rejects.toThrow(refused);
    await expect(store.create({ ...task, taskId: 't2' })).rejects.toThrow(refused);
    await expect(store.append(claim, { steps: [] })).rejects.toThrow(refused);
    await expect(store.finish(claim, '{}')).rejects.toThrow(refused);
    await expect(store.read('t1')).rejects.toThrow(refused);
    await expect(store.close()).rejects.toThrow(refused);
  });
});
