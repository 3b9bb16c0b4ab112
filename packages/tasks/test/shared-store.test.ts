/** What a process says of tasks that others have too, and what becomes of them if an answer of the store is lost. */
import { defineTool, describeDump } from 'mcp-actors';
import type { JsonObject, TaskStore } from 'mcp-actors';
import { enveloped, gate } from 'mcp-actors/testing';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { MemoryTaskStore } from './memory-task-store.ts';
import { World, capabilities, charging, required, settled, textOf } from './task-world.ts';

/** Loses the next answer of the store to this. */
function loseNext(store: MemoryTaskStore, method: 'create' | 'claim'): void {
  store.loss = (each) => {
    if (each !== method) return;
    store.loss = () => {};
    throw new Error('the connection is lost');
  };
}

describe('a lost reply of the store', () => {
  test('to a claim: the task is resumed nevertheless, once', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.start([tool]);
    const second = await world.start([tool]);
    const task = await first.begin('charge');
    await settled();
    loseNext(second.store, 'claim');
    await world.kill(first);
    await world.pass(3000);
    expect(second.facts).toContain('tasks.away');
    expect(world.table.tasks.get(task.taskId)?.owner).toBe(second.worker.owner);
    await world.pass(3000);
    door.release();
    await settled();
    expect(textOf(await second.sees(task, 'completed'))).toBe('charge 1');
    expect([charges, world.table.tasks.get(task.taskId)]).toMatchObject([
      ['charged'],
      { claims: 1 },
    ]);
  });

  test('to a creation: the client gets an error, and the task never runs', async () => {
    const world = new World();
    const { charges, tool } = charging();
    const { store, peer, ...process } = await world.start([tool]);
    loseNext(store, 'create');
    peer.send(enveloped(99, 'tools/call', { name: 'charge' }, { capabilities }));
    expect(await peer.response(99)).toMatchObject({ error: { data: { retryable: true } } });
    await world.pass(3000);
    const [kept] = [...world.table.tasks.values()];
    expect(kept).toMatchObject({ state: 'ended', text: expect.stringContaining('cancelled') });
    expect(charges).toEqual([]);
    const task = await process.begin('charge');
    await settled();
    await world.pass(3000);
    expect(await process.look(task)).toMatchObject({ status: 'working' });
    expect(charges).toEqual(['charged']);
  });
});

describe('the lease of a process is renewed', () => {
  /** Whether a process has a lease after the time of several. */
  async function keepsLease(world: World, owner: string): Promise<boolean> {
    for (let n = 0; n < 20; n++) await world.pass(100);
    return (world.table.leases.get(owner) ?? 0) > world.table.now;
  }

  test.each<keyof TaskStore>(['changes', 'claim', 'finish'])(
    'while it works through a backlog: %s',
    async (method) => {
      const world = new World();
      const { tool } = charging();
      const [first, second] = [await world.start([tool]), await world.start([tool])];
      const task = await first.begin('charge');
      await settled();
      const door = gate();
      second.store.fault = (each) => (each === method ? door.pass() : undefined);
      // It ends in place of going on: its processes have ended too often.
      if (method === 'finish') world.table.tasks.get(task.taskId)!.claims = 9;
      await world.kill(first);
      expect(await keepsLease(world, second.worker.owner)).toBe(true);
      door.release();
      await settled();
      expect(world.table.tasks.get(task.taskId)).not.toMatchObject({ owner: first.worker.owner });
    },
  );

  test('during startup, however many abandoned tasks there are', async () => {
    const world = new World();
    const { tool } = charging();
    const store = new MemoryTaskStore(world.table);
    const door = gate();
    store.fault = (each) => (each === 'claim' ? door.pass() : undefined);
    const starting = world.start([tool], {}, store);
    await settled();
    const [owner = ''] = world.table.leases.keys();
    expect(await keepsLease(world, owner)).toBe(true);
    door.release();
    await starting;
  });
});

test('shows the current state of a task ended by another process, before the change notification', async () => {
  const world = new World();
  const { tool } = charging();
  const [first, second] = [await world.start([tool]), await world.start([tool])];
  const task = await first.begin('charge');
  await settled();
  await second.ask('tasks/cancel', { taskId: task.taskId });
  expect(await first.look(task)).toMatchObject({ status: 'cancelled' });
  expect(first.facts).not.toContain('task.overtaken');
});

test('notifies subscribers of an end once, however many change notifications arrive', async () => {
  const world = new World();
  const { tool } = charging();
  const store = new MemoryTaskStore(world.table);
  let changed = () => {};
  Object.assign(store, {
    watch(callback: () => void) {
      changed = callback;
      return () => {};
    },
  });
  const first = await world.start([tool]);
  const second = await world.start([tool], {}, store);
  const { taskId } = await first.begin('charge');
  const listening = { notifications: { taskIds: [taskId] } };
  second.peer.send(enveloped(99, 'subscriptions/listen', listening, { capabilities }));
  await second.peer.notification('notifications/subscriptions/acknowledged');
  await first.ask('tasks/cancel', { taskId });
  for (let n = 0; n < 3; n++) changed();
  await settled();
  changed();
  await settled();
  const received = second.peer.received as readonly JsonObject[];
  const ends = received.filter(({ method }) => method === 'notifications/tasks');
  expect(ends).toMatchObject([{ params: { status: 'cancelled' } }]);
});

test('retries a change whose task could not be read', async () => {
  const world = new World();
  const { tool } = charging();
  const [first, second] = [await world.start([tool]), await world.start([tool])];
  const { taskId } = await first.begin('charge');
  await settled();
  await second.ask('tasks/cancel', { taskId });
  first.store.fault = (method) => {
    if (method === 'read') throw new Error('the connection is lost');
  };
  await world.pass(3000);
  expect(first.facts).not.toContain('task.overtaken');
  first.store.fault = () => {};
  await world.pass(3000);
  expect(first.facts).toContain('task.overtaken');
});

test("a dump shows a task's age, last step and waits, and the number of parked tasks", async () => {
  const world = new World();
  const tool = defineTool({
    name: 'remind',
    description: 'Asks, and sleeps',
    taskSupport: required,
    durable: true,
    handler: async (_, { elicit, sleep }) => {
      await elicit({ message: 'Now?', schema: { type: 'object', properties: {} } });
      await sleep(5000);
      await sleep(300_000);
      return 'awake';
    },
  });
  const { session, worker, ...first } = await world.start([tool]);
  const lease = worker.owner;
  const task = await first.begin('remind');
  await first.sees(task, 'input_required');
  const [asked] = session.dump().tasks;
  expect(asked).toMatchObject({ lastStep: 'asked:q1', questions: ['elicitation/create "Now?"'] });
  expect(asked?.ageMs).toBeGreaterThanOrEqual(0);
  const inputResponses = { q1: { action: 'accept', content: {} } };
  await first.ask('tasks/update', { taskId: task.taskId, inputResponses });
  await settled();
  await world.pass(1000);
  const dump = session.dump();
  expect(dump.tasks).toMatchObject([{ lastStep: 'sleep:1', questions: [], dueInMs: 4000 }]);
  expect(dump.durable).toEqual({ lease, givenUp: 0 });
  const text = describeDump(dump);
  expect(text).toMatch(/working, begun .* ago, last sleep:1, waits for a timer, due in 4 s\n/);
  expect(text).toContain('asks nothing of the client: it waits for a timer, due in 4 s\n');
  await world.pass(4000);
  expect(session.dump()).toMatchObject({ tasks: [], durable: { lease, givenUp: 1 } });
  expect(describeDump(session.dump())).toContain(
    `, 1 was given up here until due; their store knows this process as ${lease.slice(0, 8)}\n`,
  );
});

test('reports a checkpoint beyond maxTaskBytes once, and finishes the task', async () => {
  const world = new World();
  const tool = defineTool({
    name: 'note',
    description: 'Notes',
    taskSupport: required,
    durable: true,
    handler: async (_, context) => {
      for (let n = 0; n < 3; n++) {
        context.checkpoint = 'x'.repeat(3000);
        await setImmediate();
      }
      return 'done';
    },
  });
  const { told, ...first } = await world.start([tool], { maxTaskBytes: 2500 });
  const task = await first.begin('note');
  expect(textOf(await first.sees(task, 'completed'))).toBe('done');
  expect(told.of('task.unsaved')).toMatchObject([{ level: 'warning' }]);
});

describe('the steps of a task are limited across processes', () => {
  const noting = (notes: (n: number) => string) =>
    defineTool({
      name: 'note',
      description: 'Notes',
      taskSupport: required,
      durable: true,
      handler: async (_, context) => {
        for (let n = 1; ; n++) {
          context.checkpoint = n;
          await context.once(`note ${n}`, () => notes(n));
          if (n === 3) await context.sleep(1000);
        }
      },
    });

  test.each([
    [{ maxTaskSteps: 7 }, 'Task steps must be at most 7'],
    [{ maxTaskBytes: 2500 }, 'Task steps must be at most 2500 bytes together, got '],
  ])('%j', async (limits, message) => {
    const world = new World();
    const tool = noting(() => 'x'.repeat(400));
    const first = await world.start([tool], limits);
    const task = await first.begin('note');
    await settled();
    await world.kill(first);
    const second = await world.start([tool], limits);
    await world.pass(1000);
    expect(textOf(await second.sees(task, 'completed'))).toContain(message);
  });
});
