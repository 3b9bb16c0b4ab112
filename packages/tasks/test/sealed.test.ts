import type { TaskStore } from 'mcp-actors';
import { taskStoreContract } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { textSealer } from '../../../src/rounds/request-state.ts';
import { sealedTaskStore } from '../src/sealed-task-store.ts';
import { MemoryTaskStore, TaskTable } from './memory-task-store.ts';
import { World, charging, settled, textOf } from './task-world.ts';

const [key, newer] = ['11'.repeat(32), '22'.repeat(32)];

const sealed = (table: TaskTable, keys = [key]) =>
  sealedTaskStore(new MemoryTaskStore(table), textSealer(keys));

describe('sealed tasks', () => {
  for (const { name, check } of taskStoreContract) {
    test(name, () =>
      check(async () => {
        const table = new TaskTable();
        return {
          start: async () => sealed(table),
          elapse: async (ms) => void (table.now += ms),
          close: async () => {},
        };
      }),
    );
  }

  const task = { taskId: 't1', server: 'shop', owner: 'a', text: 'secret', ttlMs: 60_000 };
  const progress = { steps: [{ key: 'k', text: 'secret' }] };

  test('are unreadable in the store, and open with the current or an older key', async () => {
    const table = new TaskTable();
    const store = sealed(table);
    const quota = { key: 'secret', max: 9 };
    await store.append(await store.create({ ...task, ...progress, quota }), progress);
    expect(JSON.stringify([...table.tasks.values()])).not.toContain('secret');
    const rotated = await sealed(table, [newer, key]).read('t1');
    expect(rotated?.record).toMatchObject({ text: 'secret', ...progress });
  });

  test('do not exist for a server with another key', async () => {
    const table = new TaskTable();
    await sealed(table).create(task);
    const other = sealed(table, [newer]);
    expect(await other.read('t1')).toBeUndefined();
    expect(await other.list({ max: 9 })).toEqual([]);
    const claim = { owner: 'b', server: 'shop', max: 9 };
    expect((await other.claim(claim)).tasks).toMatchObject([{ text: '', steps: [] }]);
  });

  test.each([
    ['no key', (store: TaskStore) => store],
    ['another key', (store: TaskStore) => sealedTaskStore(store, textSealer([newer]))],
  ])('resume at a process with their key after one with %s has claimed them', async (_, seal) => {
    const world = new World();
    const { charges, door, tool } = charging();
    const withKey = (store: TaskStore) => sealedTaskStore(store, textSealer([key]));
    const first = await world.start([tool], {}, undefined, withKey);
    const sealedTask = await first.begin('charge');
    await settled();
    await world.kill(first);
    const without = await world.start([tool], {}, undefined, seal);
    const own = await without.begin('charge');
    expect(without.facts).toEqual(['task.refused']);
    expect(world.table.tasks.get(sealedTask.taskId)).toMatchObject({ owner: '', state: 'open' });
    const second = await world.start([tool], {}, undefined, withKey);
    await settled();
    door.release();
    expect(textOf(await second.sees(sealedTask, 'completed'))).toBe('charge 1');
    await without.sees(own, 'completed');
    expect(charges).toHaveLength(2);
  });

  test('reject the text of another task or step', async () => {
    const table = new TaskTable();
    const store = sealed(table);
    await store.create(task);
    await store.create({ ...task, taskId: 't2', text: 'other', ...progress });
    const [one, two] = [table.tasks.get('t1')!, table.tasks.get('t2')!];
    const { text } = two.steps[0]!;
    Object.assign(two, { steps: [{ key: 'another', text }] });
    expect(await store.read('t2')).toBeUndefined();
    Object.assign(one, { text: two.text });
    expect(await store.read('t1')).toBeUndefined();
  });
});
