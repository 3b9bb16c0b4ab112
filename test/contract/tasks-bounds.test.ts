import { createMcpServer } from 'mcp-actors';
import type { JsonObject, Task } from 'mcp-actors';
import { gate, request, turn } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere, memoryAndHttp } from './everywhere.ts';
import { connect, operate } from './serving.ts';
import { begin, change, held, look, taskTool } from './task-serving.ts';

const instant = taskTool('instant', () => 'done');
const idsOf = (list: JsonObject) => (list['tasks'] as Task[]).map(({ taskId }) => taskId);

everywhere('the time to live of a task', memoryAndHttp, () => {
  test.each([
    ['nothing', undefined, 5000],
    ['little', 2000, 2000],
    ['less than a poll interval', 10, 100],
    ['0', 0, 100],
    ['too much', 1e12, 60_000],
  ])(
    'where the client asks for %s is %s -> %i ms [TASKS-09] [TASKS-11]',
    async (_, ttl, actual) => {
      const limits = { taskTtlMs: 5000, maxTaskTtlMs: 60_000, taskPollIntervalMs: 100 };
      const { peer } = await operate({ tools: [instant] }, { limits });
      const task = await begin(peer, 'instant', ttl === undefined ? {} : { ttl });
      expect(task).toMatchObject({ ttl: actual, pollInterval: 100 });
      expect((await look(peer, task)).ttl).toBe(actual);
    },
  );

  test('is over: the task is gone, and who waits for its result is told [TASKS-10] [TASKS-23]', async () => {
    const { door, hold, reasons } = held();
    const { peer, clock, facts } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold', { ttl: 3000 });
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId }));
    await peer.quiet();
    clock.increment(2999);
    expect(idsOf(await peer.ask('tasks/list'))).toEqual([taskId]);
    clock.increment(1);
    expect(await peer.error(1)).toMatchObject({ code: -32602 });
    expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
    for (const [id, method] of ['tasks/get', 'tasks/result', 'tasks/cancel'].entries()) {
      peer.send(request(id + 10, method, { taskId }));
      expect((await peer.error(id + 10)).code).toBe(-32602);
    }
    expect(facts.of('task.created')).toMatchObject([{ details: { taskId } }]);
    expect(facts.of('task.expired')).toHaveLength(1);
  });

  test('counts from the creation, also where the task has ended [TASKS-10]', async () => {
    const { peer, clock, facts } = await operate({ tools: [instant] });
    const task = await begin(peer, 'instant', { ttl: 3000 });
    await change(peer);
    expect(facts.of('task.ended')).toMatchObject([{ details: { taskId: task.taskId } }]);
    clock.increment(2999);
    expect((await look(peer, task)).status).toBe('completed');
    clock.increment(1);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  });
});

everywhere('a taskId', memoryAndHttp, () => {
  test.each([undefined, null, 1, '', 'nobody', {}])(
    'that is %j names no task: -32602 [TASKS-23]',
    async (taskId) => {
      const { peer } = await operate({ tools: [instant] });
      for (const [id, method] of ['tasks/get', 'tasks/result', 'tasks/cancel'].entries()) {
        peer.send(request(id, method, { taskId }));
        const { code, message } = await peer.error(id);
        expect([code, message]).toEqual([-32602, expect.stringMatching(/taskId|there is no/)]);
      }
    },
  );

  test('of another session names no task, and no list has it [TASKS-25]', async () => {
    const server = createMcpServer({ name: 's', version: '1', tools: [instant] });
    const [one, other] = [connect(server), connect(server)];
    await one.peer.handshake();
    await other.peer.handshake();
    const { taskId } = await begin(one.peer, 'instant');
    expect(idsOf(await one.peer.ask('tasks/list'))).toEqual([taskId]);
    expect(await other.peer.ask('tasks/list')).toEqual({ tasks: [] });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      await expect(other.peer.ask(method, { taskId })).rejects.toMatchObject({
        error: { code: -32602 },
      });
    }
    await one.session[Symbol.asyncDispose]();
    await other.session[Symbol.asyncDispose]();
  });
});

everywhere('tasks/list', memoryAndHttp, () => {
  test('gives every task, oldest first, page by page, also where some are gone meanwhile [TASKS-19]', async () => {
    const limits = { pageSize: 2 };
    const { peer, clock } = await operate({ tools: [instant] }, { limits });
    const ids: string[] = [];
    for (const ttl of [9000, 3000, 9000, 9000, 9000]) {
      ids.push((await begin(peer, 'instant', { ttl })).taskId);
    }
    const first = await peer.ask('tasks/list');
    expect(idsOf(first)).toEqual(ids.slice(0, 2));
    clock.increment(3000);
    const second = await peer.ask('tasks/list', { cursor: first['nextCursor'] });
    expect(idsOf(second)).toEqual(ids.slice(2, 4));
    const third = await peer.ask('tasks/list', { cursor: second['nextCursor'] });
    expect(third).toEqual({ tasks: [expect.objectContaining({ taskId: ids[4] })] });
  });

  test.each(['', 'x', btoa('tools/list:1'), 5])(
    'refuses the cursor %j [TASKS-23]',
    async (cursor) => {
      const { peer } = await operate({ tools: [instant] });
      peer.send(request(1, 'tasks/list', { cursor }));
      expect((await peer.error(1)).code).toBe(-32602);
    },
  );
});

everywhere('tasks are limited', memoryAndHttp, () => {
  const tooMany = { code: -32000, data: { reason: 'too-many-tasks', retryable: true } };

  test('by how many run: one more is refused until one has ended [TASKS-26]', async () => {
    const { door, hold } = held();
    const { peer } = await operate({ tools: [hold] }, { limits: { maxTasks: 2 } });
    const tasks = [await begin(peer, 'hold'), await begin(peer, 'hold')];
    await door.arrived(2);
    peer.send(request(1, 'tools/call', { name: 'hold', task: {} }));
    expect(await peer.error(1)).toMatchObject(tooMany);
    await peer.ask('tasks/cancel', { taskId: tasks[0]?.taskId });
    await begin(peer, 'hold');
    await door.arrived(3);
  });

  test('by how many are kept: cancelled ones make room, others stay for their time [TASKS-26]', async () => {
    const { hold } = held();
    const tools = [hold, instant];
    const { peer, clock } = await operate({ tools }, { limits: { maxKeptTasks: 3 } });
    const ended = await begin(peer, 'instant', { ttl: 3000 });
    const { taskId } = await begin(peer, 'hold');
    await peer.ask('tasks/cancel', { taskId });
    await begin(peer, 'instant');
    const replacing = await begin(peer, 'instant');
    const kept = idsOf(await peer.ask('tasks/list'));
    expect(kept).toHaveLength(3);
    expect(kept).not.toContain(taskId);
    expect(kept).toContain(ended.taskId);
    expect(kept).toContain(replacing.taskId);
    peer.send(request(1, 'tools/call', { name: 'instant', task: {} }));
    expect(await peer.error(1)).toMatchObject(tooMany);
    clock.increment(3000);
    await begin(peer, 'instant');
  });
});

everywhere('the end of the session', eachByteTransport, () => {
  test('gives tasks the drain time, and answers who waits for one [LIFE-15]', async () => {
    const { door, hold } = held();
    const { peer, session } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId }));
    peer.end();
    await turn();
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    door.release();
    expect((await peer.response(1)).result).toBeDefined();
    expect(await session.closed).toMatchObject({ kind: 'input-ended' });
  });

  test('cancels a task that does not end in it [LIFE-16]', async () => {
    const { door, hold, reasons } = held();
    const { peer, session, clock } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId }));
    await peer.quiet();
    session.shutdown('enough');
    clock.increment(2000);
    await session.closed;
    expect((await peer.error(1)).code).toBe(-32000);
    expect(reasons).toMatchObject([{ code: 'TRANSPORT_CLOSED' }]);
  });

  test('waits for a task that cleans up after it was cancelled [LIFE-15]', async () => {
    const cleaning = gate();
    const tidy = taskTool('tidy', async () => {
      await cleaning.pass();
      return 'tidy';
    });
    const { peer, session } = await operate({ tools: [tidy] });
    const { taskId } = await begin(peer, 'tidy');
    await cleaning.arrived();
    await peer.ask('tasks/cancel', { taskId });
    session.shutdown('enough');
    await peer.ask('ping');
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    cleaning.release();
    await session.closed;
  });
});

test('a task whose time of day is none is lost alone: -32603, and the session goes on [FLOW-04]', async () => {
  const times = [new Date(0), new Date(0), new Date(Number.NaN)];
  const wallClock = () => times.shift() ?? new Date(0);
  const { peer, facts } = await operate({ tools: [instant] }, { wallClock });
  await begin(peer, 'instant');
  await facts.next('handler.failed');
  expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  expect((await begin(peer, 'instant')).status).toBe('working');
});
