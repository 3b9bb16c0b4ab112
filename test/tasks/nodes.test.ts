/** What two nodes on one store say of a task, over each kind of store. */
import { defineTool } from 'mcp-actors';
import { enveloped, turn } from 'mcp-actors/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startNode, storeKinds } from './real-stores.ts';
import type { SharedStore } from './real-stores.ts';
import { capabilities, charging, required } from './task-world.ts';

const [key, other] = ['11'.repeat(32), '22'.repeat(32)];

describe.each(storeKinds)('nodes on $kind', ({ needs, open }) => {
  let shared: SharedStore;
  beforeEach((context) => needs(context));
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(() => shared?.close());

  test('a server of another name does not find a task', async () => {
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

  test('a listener at another node is told each end once', async () => {
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

  test('keys of "once" that no UTF-8 holds are made once, and told apart', async () => {
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
    while (made.length < keys.length) await turn();
    await first.end();
    const second = await startNode(shared, [tool]);
    await second.sees(task, ({ status }) => status === 'completed');
    expect(made).toEqual(keys);
  });
});
