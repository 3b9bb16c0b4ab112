/** What two nodes on one store say of a task, over each kind of store. */
import { defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { enveloped, gate, flush } from 'mcp-actors/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startNode, storeKinds } from './real-stores.ts';
import type { SharedStore } from './real-stores.ts';
import { capabilities, charging, required, textOf } from './task-world.ts';

const [key, other] = ['11'.repeat(32), '22'.repeat(32)];

describe.each(storeKinds)('nodes on $kind', ({ needs, open }) => {
  let shared: SharedStore;
  beforeEach((context) => needs(context));
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(() => shared?.close());

  test('a server with another name does not find a task', async () => {
    const { tool } = charging();
    const shop = await startNode(shared, [tool]);
    const bank = await startNode(shared, [tool], { name: 'bank' });
    const { taskId } = await shop.begin('charge');
    for (const method of ['tasks/get', 'tasks/cancel']) {
      expect(await bank.request(method, { taskId })).toMatchObject({
        error: { code: -32602, message: expect.stringContaining('Task not found') },
      });
    }
    await bank.request('tasks/update', { taskId, inputResponses: {} });
    expect(await shop.look({ taskId })).toMatchObject({ status: 'working' });
  });

  test.each([
    ['no state key', {}],
    ['another state key', { stateKeys: [other] }],
  ])('a server with %s does not find a sealed task', async (_, keys) => {
    const { tool } = charging();
    const first = await startNode(shared, [tool], { stateKeys: [key] });
    const task = await first.begin('charge');
    const without = await startNode(shared, [tool], keys);
    const refused = { error: { code: -32602 } };
    const { taskId } = task;
    expect(await without.request('tasks/get', { taskId })).toMatchObject(refused);
    expect(await first.look(task)).toMatchObject({ status: 'working' });
  });

  test('notifies a subscriber at another node of each end once', async () => {
    const { tool } = charging();
    const first = await startNode(shared, [tool]);
    const second = await startNode(shared, [tool]);
    const tasks = [];
    for (let n = 0; n < 5; n++) tasks.push(await first.begin('charge'));
    const taskIds = tasks.map(({ taskId }) => taskId);
    const listening = { notifications: { taskIds } };
    second.peer.send(enveloped(99, 'subscriptions/listen', listening, { capabilities }));
    await second.peer.notification('notifications/subscriptions/acknowledged');
    const told: string[] = [];
    for (const taskId of taskIds) await first.ask('tasks/cancel', { taskId });
    while (new Set(told).size < taskIds.length) {
      const { params } = await second.peer.notification('notifications/tasks');
      if (params?.['status'] === 'cancelled') told.push(String(params['taskId']));
    }
    expect(told.toSorted()).toEqual(taskIds.toSorted());
  });

  test('once keys without a UTF-8 form are run once and kept distinct', async () => {
    const made: string[] = [];
    const keys = ['a\ud800', 'a\ud801', '\udc00', String.raw`"a\ud800"`, 'a\u0000', 'ä🥊'];
    const tool = defineTool({
      name: 'note',
      description: 'Notes',
      taskSupport: required,
      durable: true,
      handler: async (_, { once, sleep }) => {
        for (const name of keys) await once(name, () => made.push(name));
        await sleep(1000);
        for (const name of keys) await once(name, () => made.push(name));
        return 'noted';
      },
    });
    const first = await startNode(shared, [tool]);
    const task = await first.begin('note');
    while (made.length < keys.length) await flush();
    await first.end();
    const second = await startNode(shared, [tool]);
    await second.sees(task, ({ status }) => status === 'completed');
    expect(made).toEqual(keys);
  });

  test('status message and lastUpdatedAt are the same at every node, and survive a node', async () => {
    const doors = [gate(), gate(), gate()] as const;
    const tool = defineTool({
      name: 'walk',
      description: 'Walks',
      taskSupport: required,
      durable: true,
      handler: async (_, { task, once, elicit }) => {
        for (const n of [1, 2]) {
          await once(`step ${n}`, () => n);
          task?.describe(`step ${n}`);
        }
        await doors[0].pass();
        await elicit({ message: 'On?', schema: { type: 'object', properties: {} } });
        await doors[1].pass();
        return 'arrived';
      },
    });
    const nodes = [await startNode(shared, [tool]), await startNode(shared, [tool])] as const;
    const [first, second] = nodes;
    const task = await first.begin('walk');
    const { taskId } = task;
    const times = [Date.parse(task.lastUpdatedAt)];
    /** What both say once the first says so. */
    const same = async (isSo: (seen: JsonObject) => boolean, [a, b] = [first, second]) => {
      const seen = await a.sees(task, isSo);
      expect(await b.look(task)).toEqual(seen);
      times.push(Date.parse(String(seen['lastUpdatedAt'])));
      return seen;
    };
    const isWalking = ({ statusMessage }: JsonObject) => statusMessage === 'step 2';
    await same(isWalking);
    doors[0].release();
    await same(({ status }) => status === 'input_required');
    const inputResponses = { q1: { action: 'accept', content: {} } };
    await first.ask('tasks/update', { taskId, inputResponses });
    await same(isWalking);
    // Its handler is held, and its process ends.
    await first.end();
    const third = await startNode(shared, [tool]);
    const seen: unknown[] = [];
    const isBack = ({ statusMessage }: JsonObject) => seen.push(statusMessage) > 5;
    await same(isBack, [third, second]);
    expect(new Set(seen)).toEqual(new Set(['step 2']));
    doors[1].release();
    await same(({ status }) => status === 'completed', [second, third]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(times.slice(0, 4)).size).toBeGreaterThan(1);
  });

  test('shows the status message of a task that is not durable at every node', async () => {
    const door = gate();
    const tool = defineTool({
      name: 'walk',
      description: 'Walks',
      taskSupport: required,
      handler: async (_, { task }) => {
        for (let n = 1; n <= 100; n++) task?.describe(`step ${n}`);
        await door.pass();
        return 'arrived';
      },
    });
    const [first, second] = [await startNode(shared, [tool]), await startNode(shared, [tool])];
    const task = await first.begin('walk');
    const seen = await second.sees(task, ({ statusMessage }) => statusMessage === 'step 100');
    expect(await first.look(task)).toEqual(seen);
    door.release();
    await second.sees(task, ({ status }) => status === 'completed');
  });

  test('withdraws a question that a rerun does not repeat', async () => {
    const asking = (message: string) =>
      defineTool({
        name: 'order',
        description: 'Orders',
        taskSupport: required,
        durable: true,
        handler: async (_, { elicit }) => {
          await elicit({ message, schema: { type: 'object', properties: {} } });
          return message;
        },
      });
    const first = await startNode(shared, [asking('How many?')]);
    const task = await first.begin('order');
    const { taskId } = task;
    const keysOf = ({ inputRequests = {} }: JsonObject) => Object.keys(inputRequests as object);
    await first.sees(task, (seen) => keysOf(seen).includes('q1'));
    await first.end();
    const second = await startNode(shared, [asking('Which colour?')]);
    const third = await startNode(shared, [asking('Which colour?')]);
    // What asks is parked until it is answered.
    await third.store.append({ taskId }, { steps: [] });
    const seen = await third.sees(task, (each) => keysOf(each).includes('q2'));
    expect(keysOf(seen)).toEqual(['q2']);
    const inputResponses = { q2: { action: 'accept', content: {} } };
    await second.ask('tasks/update', { taskId, inputResponses });
    const done = await third.sees(task, ({ status }) => status === 'completed');
    expect(textOf(done)).toBe('Which colour?');
  });
});
