/** Answers to one question of a task, given at once and at several nodes, and how long they may be. */
import { defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { enveloped, gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { World, capabilities, required, settled } from './task-world.ts';

/** A tool that asks for a size, then waits for ever. */
function asking() {
  const sizes: unknown[] = [];
  const tool = defineTool({
    name: 'order',
    description: 'Orders',
    taskSupport: required,
    durable: true,
    handler: async (_, { elicit }) => {
      const schema = { type: 'object', properties: { size: { type: 'string' } } } as const;
      sizes.push(await elicit({ message: 'Size?', schema }));
      return new Promise<string>(() => {});
    },
  });
  return { sizes, tool };
}

const answerOf = (size: string) => ({ q1: { action: 'accept', content: { size } } });

type Process = Awaited<ReturnType<World['start']>>;

/** Holds the next appends of a process. */
function holdAppends({ store }: Process) {
  const door = gate();
  store.fault = async (method) => {
    if (method === 'append') await door.pass();
  };
  return door;
}

describe('two concurrent answers to one question', () => {
  test("at the task's own node: a rerun gets the answer that the handler got", async () => {
    const world = new World();
    const { sizes, tool } = asking();
    const first = await world.start([tool]);
    const task = await first.begin('order');
    const { taskId } = task;
    await first.sees(task, 'input_required');
    const door = holdAppends(first);
    const update = (inputResponses: JsonObject) =>
      first.ask('tasks/update', { taskId, inputResponses });
    const updates = [update(answerOf('S')), update(answerOf('L'))];
    await settled();
    door.release();
    await Promise.all(updates);
    await settled();
    await world.kill(first);
    await world.start([tool]);
    await settled();
    expect(sizes).toEqual([
      { action: 'accept', content: { size: 'S' } },
      { action: 'accept', content: { size: 'S' } },
    ]);
  });

  test.each(['own', 'other'] as const)(
    'at two nodes, %s first: a rerun gets the answer that the handler got',
    async (earlier) => {
      const world = new World();
      const { sizes, tool } = asking();
      const [first, second] = [await world.start([tool]), await world.start([tool])];
      const task = await first.begin('order');
      const { taskId } = task;
      await second.sees(task, 'input_required');
      const doors = [holdAppends(first), holdAppends(second)];
      const updates = [
        first.ask('tasks/update', { taskId, inputResponses: answerOf('own') }),
        second.ask('tasks/update', { taskId, inputResponses: answerOf('other') }),
      ];
      await settled();
      for (const door of earlier === 'own' ? doors : doors.toReversed()) {
        door.release();
        await settled();
      }
      await Promise.all(updates);
      await world.pass(3000);
      await world.kill(first);
      await world.pass(3000);
      expect(sizes).toHaveLength(2);
      expect(sizes[1]).toEqual(sizes[0]);
    },
  );
});

test('refuses answers beyond maxTaskBytes at every node, then accepts a shorter one', async () => {
  const world = new World();
  const { sizes, tool } = asking();
  const limits = { maxTaskBytes: 3000 };
  const [first, second] = [await world.start([tool], limits), await world.start([tool], limits)];
  const task = await first.begin('order');
  const { taskId } = task;
  await first.sees(task, 'input_required');
  for (const { peer } of [first, second]) {
    const params = { taskId, inputResponses: answerOf('x'.repeat(4000)) };
    peer.send(enveloped(99, 'tasks/update', params, { capabilities }));
    expect(await peer.response(99)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('3000 bytes') },
    });
  }
  await first.sees(task, 'input_required');
  await second.ask('tasks/update', { taskId, inputResponses: answerOf('M') });
  await world.pass(3000);
  expect(sizes).toEqual([{ action: 'accept', content: { size: 'M' } }]);
});
