/** Tasks that go on after their process has ended, over a store in memory and a clock that the tests move. */
import { defineTool } from 'mcp-actors';
import type { JsonObject, Task, ToolAnswer } from 'mcp-actors';
import { enveloped, flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { assign, createMachine, fromPromise, setup } from 'xstate';
import type { Migrate } from '../../../src/server/define/tool-machine.ts';
import { StoredTasks } from '../../serve/src/stored-tasks.ts';
import { World, capabilities, charging, required, settled, textOf } from './task-world.ts';

describe('a resumed handler', () => {
  test('runs again with its once values', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.start([tool]);
    const task = await first.begin('charge');
    await settled();
    await world.kill(first);
    const second = await world.start([tool]);
    await settled();
    expect((await second.look(task))['status']).toBe('working');
    door.release();
    await settled();
    expect(textOf(await second.sees(task, 'completed'))).toBe('charge 1');
    expect(charges).toEqual(['charged']);
    expect(second.facts).toContain('task.resumed');
  });

  test('backs off after each restart, and fails past the restart limit', async () => {
    const world = new World();
    const { charges, tool } = charging();
    let process = await world.start([tool], { maxRestarts: 2 });
    const task = await process.begin('charge');
    await settled();
    for (const waitMs of [0, 1000]) {
      await world.kill(process);
      process = await world.start([tool], { maxRestarts: 2 });
      await settled();
      expect(process.facts.includes('task.resumed')).toBe(waitMs === 0);
      await world.pass(waitMs);
      expect(process.facts).toContain('task.resumed');
    }
    await world.kill(process);
    const last = await world.start([tool], { maxRestarts: 2 });
    const { status, error } = (await last.look(task)) as { status: string; error: JsonObject };
    expect([status, charges.length]).toEqual(['failed', 1]);
    expect(error['message']).toContain('3 times');
  });

  test("gets its client's answers, and asks further questions", async () => {
    const world = new World();
    const seen: unknown[] = [];
    const form = (name: string) => ({
      message: name,
      schema: { type: 'object', properties: { [name]: { type: 'string' } } } as const,
    });
    const tool = defineTool({
      name: 'order',
      description: 'Orders',
      taskSupport: required,
      durable: true,
      handler: async (_, { elicit }) => {
        const size = await elicit(form('size'));
        seen.push(size);
        const colour = await elicit(form('colour'));
        return JSON.stringify([size, colour]);
      },
    });
    const first = await world.start([tool]);
    const task = await first.begin('order');
    const { taskId } = task;
    await settled();
    const answer = (key: string, value: string) => ({
      [key]: { action: 'accept', content: { [value]: 'x' } },
    });
    expect(await first.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await first.ask('tasks/update', { taskId, inputResponses: answer('q1', 'size') });
    await settled();
    await world.kill(first);
    const second = await world.start([tool]);
    await settled();
    const asked = await second.sees(task, 'input_required');
    expect(asked).toMatchObject({ status: 'input_required' });
    const [key = ''] = Object.keys(asked['inputRequests'] as JsonObject);
    await second.ask('tasks/update', { taskId, inputResponses: answer(key, 'colour') });
    await settled();
    expect(textOf(await second.sees(task, 'completed'))).toContain('"colour"');
    expect(seen).toHaveLength(2);
  });

  test('takes an answer given at another process', async () => {
    const world = new World();
    const tool = defineTool({
      name: 'order',
      description: 'Orders',
      taskSupport: required,
      durable: true,
      handler: async (_, { elicit }) => {
        const schema = { type: 'object', properties: { size: { type: 'string' } } } as const;
        return JSON.stringify(await elicit({ message: 'Size?', schema }));
      },
    });
    const [first, second] = [await world.start([tool]), await world.start([tool])];
    const task = await first.begin('order');
    const { taskId } = task;
    await settled();
    const asked = await second.sees(task, 'input_required');
    expect(asked).toMatchObject({ status: 'input_required', inputRequests: { q1: {} } });
    second.peer.send(
      enveloped(
        99,
        'subscriptions/listen',
        { notifications: { taskIds: [taskId] } },
        { capabilities },
      ),
    );
    await second.peer.notification('notifications/subscriptions/acknowledged');
    const inputResponses = { q1: { action: 'accept', content: { size: 'L' } } };
    await second.ask('tasks/update', { taskId, inputResponses });
    await world.pass(200);
    await world.pass(200);
    const told = await second.peer.notification('notifications/tasks');
    expect(told.params).toMatchObject({ taskId });
    expect(textOf(await first.sees(task, 'completed'))).toContain('"L"');
    expect(textOf(await second.sees(task, 'completed'))).toContain('"L"');
  });

  test('that diverges fails with an error that names both steps', async () => {
    const world = new World();
    const asking = (message: string) =>
      defineTool({
        name: 'order',
        description: 'Orders',
        taskSupport: required,
        durable: true,
        handler: async (_, { elicit, sleep }) => {
          await elicit({ message, schema: { type: 'object', properties: {} } });
          await sleep(3_600_000);
          return 'done';
        },
      });
    const first = await world.start([asking('How many?')]);
    const task = await first.begin('order');
    await settled();
    const inputResponses = { q1: { action: 'accept', content: {} } };
    await first.ask('tasks/update', { taskId: task.taskId, inputResponses });
    await settled();
    const second = await world.start([asking('Which colour?')]);
    await world.kill(first);
    await world.pass(3_600_000);
    const { result } = (await second.sees(task, 'completed')) as { result: JsonObject };
    const text = textOf({ result });
    expect(text).toContain('How many?');
    expect(text).toContain('Which colour?');
  });

  test('sleeps across the end of its process without running, and wakes once', async () => {
    const world = new World();
    const woken: string[] = [];
    const tool = defineTool({
      name: 'remind',
      description: 'Reminds',
      taskSupport: required,
      durable: true,
      handler: async (_, { sleep, once }) => {
        await sleep(600_000);
        await once('wake', () => void woken.push('woken'));
        return 'awake';
      },
    });
    const first = await world.start([tool]);
    const parked = async ({ taskId }: Task) => {
      while (world.table.tasks.get(taskId)?.owner !== '') await flush();
      await flush();
    };
    await parked(await first.begin('remind'));
    const timers = world.clock.liveTimers;
    const task = await first.begin('remind');
    await parked(task);
    expect(world.clock.liveTimers).toBe(timers);
    expect(await first.look(task)).toMatchObject({ status: 'working' });
    await world.kill(first);
    await world.pass(300_000);
    const second = await world.start([tool]);
    await world.pass(299_000);
    expect(woken).toEqual([]);
    await world.pass(1000);
    expect(textOf(await second.sees(task, 'completed'))).toBe('awake');
    await world.pass(600_000);
    expect(woken).toEqual(['woken', 'woken']);
  });

  test('that only waits is parked when its session ends, and resumes in the next', async () => {
    const world = new World();
    const tool = defineTool({
      name: 'nap',
      description: 'Naps',
      taskSupport: required,
      durable: true,
      handler: async (_, { sleep }) => {
        await sleep(5000);
        return 'awake';
      },
    });
    const first = await world.start([tool]);
    const task = await first.begin('nap');
    await settled();
    await first.end();
    await first.worker.close();
    const second = await world.start([tool]);
    expect(await second.look(task)).toMatchObject({ status: 'working' });
    await world.pass(5000);
    expect(textOf(await second.sees(task, 'completed'))).toBe('awake');
  });
});

test('a task of a tool that is not durable fails with the reason', async () => {
  const world = new World();
  const { tool } = charging();
  const plain = { ...tool, durable: false };
  const first = await world.start([plain]);
  const task = await first.begin('charge');
  await world.kill(first);
  const second = await world.start([plain]);
  expect(await second.look(task)).toMatchObject({
    status: 'failed',
    error: { message: 'The process that ran it has ended' },
  });
});

describe('a resumed machine tool', () => {
  const reminding = (states: { readonly fetching?: () => Promise<string> } = {}) =>
    setup({
      types: {
        context: {} as { readonly said: string[] },
        events: {} as ToolAnswer,
        output: {} as string,
        tags: {} as 'waiting',
      },
      actors: { fetch: fromPromise(states.fetching ?? (async () => 'fetched')) },
      delays: { '24h': 86_400_000 },
    }).createMachine({
      id: 'reminding',
      context: { said: [] },
      initial: 'asking',
      states: {
        asking: {
          tags: 'waiting',
          meta: {
            ask: { elicit: { message: 'Now?', schema: { type: 'object', properties: {} } } },
          },
          after: { '24h': 'fetching' },
          on: { 'answer.*': 'fetching' },
        },
        fetching: { invoke: { src: 'fetch', onDone: 'done' } },
        done: { type: 'final' },
      },
      output: 'reminded',
    });
  const toolOf = (
    machine: Parameters<typeof createMachine>[0] | ReturnType<typeof reminding>,
    migrate?: Migrate,
  ) =>
    defineTool({
      name: 'remind',
      description: 'Reminds',
      taskSupport: required,
      machine: machine as ReturnType<typeof reminding>,
      ...(migrate ? { migrate } : {}),
    });

  test('resumes in its state, with the original due times of its timers', async () => {
    const world = new World();
    const first = await world.start([toolOf(reminding())]);
    const task = await first.begin('remind');
    await settled();
    expect(await first.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await world.pass(80_000_000);
    await world.kill(first);
    const second = await world.start([toolOf(reminding())]);
    expect(await second.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await world.pass(6_399_000);
    expect(await second.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await world.pass(1000);
    expect(textOf(await second.sees(task, 'completed'))).toBe('reminded');
  });

  test('invokes its actors again', async () => {
    const world = new World();
    let fetches = 0;
    const fetching = () => (++fetches === 1 ? new Promise<string>(() => {}) : Promise.resolve(''));
    const first = await world.start([toolOf(reminding({ fetching }))]);
    const task = await first.begin('remind');
    await first.sees(task, 'input_required');
    const inputResponses = { q1: { action: 'accept', content: {} } };
    await first.ask('tasks/update', { taskId: task.taskId, inputResponses });
    while (fetches === 0) await flush();
    await settled();
    expect(fetches).toBe(1);
    const lastStep = 'state fetching';
    expect(first.session.dump().tasks).toMatchObject([{ lastStep, questions: [] }]);
    expect(await new StoredTasks(first.store).list({ max: 9 })).toMatchObject([
      { lastStep, tool: 'remind', server: 'shop', owner: first.worker.owner, isLeft: false },
    ]);
    await world.kill(first);
    const second = await world.start([toolOf(reminding({ fetching }))]);
    await settled();
    expect([textOf(await second.sees(task, 'completed')), fetches]).toEqual(['reminded', 2]);
  });

  test('invokes an inline actor again, with its timers', async () => {
    const begun: string[] = [];
    const inner = createMachine({
      initial: 'working',
      states: {
        working: { entry: () => void begun.push('begun'), after: { 60_000: 'done' } },
        done: { type: 'final' },
      },
    });
    const outer = createMachine({
      id: 'outer',
      initial: 'asking',
      states: {
        asking: {
          initial: 'inside',
          states: { inside: { invoke: [{ src: inner, onDone: '#outer.done' }] } },
        },
        done: { id: 'done', type: 'final' },
      },
    });
    const world = new World();
    const first = await world.start([toolOf(outer as never)]);
    const task = await first.begin('remind');
    await world.pass(59_000);
    await world.kill(first);
    const second = await world.start([toolOf(outer as never)]);
    await world.pass(59_000);
    expect(await second.look(task)).toMatchObject({ status: 'working' });
    expect(begun).toEqual(['begun', 'begun']);
    await world.pass(1000);
    expect(await second.sees(task, 'completed')).toMatchObject({ status: 'completed' });
  });

  test('of a version without the stored state is not resumed, and loses nothing', async () => {
    const world = new World();
    const first = await world.start([toolOf(reminding())]);
    const task = await first.begin('remind');
    await first.sees(task, 'input_required');
    await world.kill(first);
    const other = createMachine({ id: 'reminding', initial: 'idle', states: { idle: {} } });
    const newer = await world.start([toolOf(other as never)]);
    await settled();
    expect(newer.facts).toContain('task.refused');
    expect(await newer.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await newer.worker.close();
    const older = await world.start([toolOf(reminding())]);
    await world.pass(30_000);
    const inputResponses = { q1: { action: 'accept', content: {} } };
    await older.ask('tasks/update', { taskId: task.taskId, inputResponses });
    await settled();
    expect(textOf(await older.sees(task, 'completed'))).toBe('reminded');
  });

  test('is left to the version that has its state if both run', async () => {
    const world = new World();
    const first = await world.start([toolOf(reminding())]);
    const other = createMachine({ id: 'reminding', initial: 'idle', states: { idle: {} } });
    // Its beat is first.
    const newer = await world.start([toolOf(other as never)]);
    const older = await world.start([toolOf(reminding())]);
    const task = await first.begin('remind');
    await first.sees(task, 'input_required');
    await world.kill(first);
    await world.pass(3000);
    expect(newer.said.join()).toContain(
      'here: The call cannot be resumed: the machine "reminding" no longer has its state "asking"',
    );
    await world.pass(3000);
    expect(newer.facts.filter((name) => name === 'task.refused')).toHaveLength(1);
    expect(older.facts).toContain('task.resumed');
    const inputResponses = { q1: { action: 'accept', content: {} } };
    await newer.ask('tasks/update', { taskId: task.taskId, inputResponses });
    await world.pass(3000);
    expect(textOf(await newer.sees(task, 'completed'))).toBe('reminded');
  });

  /** A version in which other names are those of the states. */
  const renamed = (fetching: () => Promise<string>) =>
    setup({
      types: { context: {} as { readonly was: unknown } },
      actors: { fetch: fromPromise(fetching) },
    }).createMachine({
      id: 'reminding',
      context: { was: 'begun anew' },
      initial: 'begun',
      states: {
        begun: { type: 'final' },
        confirming: {
          tags: 'waiting',
          meta: {
            ask: { elicit: { message: 'Now?', schema: { type: 'object', properties: {} } } },
          },
          after: { '24h': 'done' },
          on: { 'answer.*': 'done' },
        },
        loading: { invoke: { src: 'fetch', onDone: 'done' } },
        done: { type: 'final' },
      },
      output: ({ context }) => `was ${String(context.was)}`,
    });

  test.each([
    ['asking', 'confirming'],
    ['fetching', 'loading'],
  ])('whose state "%s" was renamed resumes through migrate', async (was, now) => {
    const world = new World();
    let fetches = 0;
    const fetching = () => (++fetches === 1 ? new Promise<string>(() => {}) : Promise.resolve(''));
    const first = await world.start([toolOf(reminding({ fetching }))]);
    const task = await first.begin('remind');
    await first.sees(task, 'input_required');
    const { taskId } = task;
    const answer = { taskId, inputResponses: { q1: { action: 'accept', content: {} } } };
    if (was === 'fetching') {
      await first.ask('tasks/update', answer);
      while (fetches === 0) await flush();
      await settled();
    }
    await world.kill(first);
    const machine = renamed(fetching) as never;
    const second = await world.start([
      toolOf(machine, ({ value }) => ({
        value: value === was ? now : 'begun',
        context: { was: value },
      })),
    ]);
    await settled();
    if (was === 'asking') {
      const seen = await second.sees(task, 'input_required');
      expect(seen).toMatchObject({ status: 'input_required', inputRequests: { q1: {} } });
      await second.ask('tasks/update', answer);
    }
    expect(textOf(await second.sees(task, 'completed'))).toBe(`was ${was}`);
  });

  test('whose state was renamed keeps the due time of its timer', async () => {
    const world = new World();
    const first = await world.start([toolOf(reminding())]);
    const task = await first.begin('remind');
    await first.sees(task, 'input_required');
    await world.pass(86_000_000);
    await world.kill(first);
    const machine = renamed(async () => '') as never;
    const migrate = () => ({ value: 'confirming', context: { was: 'asking' } });
    const second = await world.start([toolOf(machine, migrate)]);
    await world.pass(399_000);
    expect(await second.sees(task, 'input_required')).toMatchObject({ status: 'input_required' });
    await world.pass(1000);
    expect(textOf(await second.sees(task, 'completed'))).toBe('was asking');
  });

  test('fires a timer set before the restart once', async () => {
    const ticking = setup({ types: { context: {} as { readonly ticks: number } } }).createMachine({
      id: 'ticking',
      context: { ticks: 0 },
      initial: 'sleeping',
      states: {
        sleeping: { after: { '2h': 'ticked' } },
        ticked: {
          entry: assign({ ticks: ({ context }) => context.ticks + 1 }),
          always: [
            { guard: ({ context }) => context.ticks === 2, target: 'done' },
            { target: 'sleeping' },
          ],
        },
        done: { type: 'final' },
      },
      output: 'ticked twice',
    });
    const world = new World();
    const first = await world.start([toolOf(ticking as never)]);
    const task = await first.begin('remind');
    await settled();
    await world.kill(first);
    const second = await world.start([toolOf(ticking as never)]);
    await world.pass(7_200_000);
    expect(await second.look(task)).toMatchObject({ status: 'working' });
    await world.pass(7_200_000);
    expect(textOf(await second.sees(task, 'completed'))).toBe('ticked twice');
  });
});
