import { ProtocolError, ToolError, createMcpServer } from 'mcp-actors';
import type { JsonObject, Task } from 'mcp-actors';
import { cancelled, gate, request, flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere, memoryAndHttp } from './everywhere.ts';
import { connect, echo, operate, operateWarm, textOf } from './serving.ts';
import { begin, change, held, look, related, relatedKey, taskTool } from './task-serving.ts';

const instant = taskTool('instant', () => 'done');
const idsOf = (list: JsonObject) => (list['tasks'] as Task[]).map(({ taskId }) => taskId);

everywhere('the ttl of a task', memoryAndHttp, () => {
  test.each([
    ['nothing', undefined, 5000],
    ['little', 2000, 2000],
    ['less than a poll interval', 10, 100],
    ['0', 0, 100],
    ['too much', 1e12, 60_000],
  ])(
    'where the client requests %s, the ttl is %s -> %i ms [TASKS-09] [TASKS-11]',
    async (_, ttl, actual) => {
      const limits = { taskTtlMs: 5000, maxTaskTtlMs: 60_000, taskPollIntervalMs: 100 };
      const { peer } = await operate({ tools: [instant] }, { limits });
      const task = await begin(peer, 'instant', ttl === undefined ? {} : { ttl });
      expect(task).toMatchObject({ ttl: actual, pollInterval: 100 });
      expect((await look(peer, task)).ttl).toBe(actual);
    },
  );

  test('removes an expired task, and rejects those waiting for its result [TASKS-10] [TASKS-23]', async () => {
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

  test('counts the ttl from the creation, even if the task has ended [TASKS-10]', async () => {
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
    'rejects the task id %j with -32602 [TASKS-23]',
    async (taskId) => {
      const { peer } = await operate({ tools: [instant] });
      for (const [id, method] of ['tasks/get', 'tasks/result', 'tasks/cancel'].entries()) {
        peer.send(request(id, method, { taskId }));
        const { code, message } = await peer.error(id);
        expect([code, message]).toEqual([-32602, expect.stringMatching(/[Tt]ask/)]);
      }
    },
  );

  test('hides tasks of other sessions [TASKS-25]', async () => {
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
  test('lists all tasks, oldest first, page by page, even if some disappear meanwhile [TASKS-19]', async () => {
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
    'rejects the cursor %j [TASKS-23]',
    async (cursor) => {
      const { peer } = await operate({ tools: [instant] });
      peer.send(request(1, 'tasks/list', { cursor }));
      expect((await peer.error(1)).code).toBe(-32602);
    },
  );
});

everywhere('limits of tasks', memoryAndHttp, () => {
  const tooMany = { code: -32000, data: { reason: 'too-many-tasks', retryable: true } };

  test('rejects a task beyond maxTasks until another one ends [TASKS-26]', async () => {
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

  test('limits stored tasks: cancelled ones make room, others stay for their ttl [TASKS-26]', async () => {
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

everywhere('closing a session with tasks', eachByteTransport, () => {
  test('gives tasks the drain time, and answers those waiting for results [LIFE-15]', async () => {
    const { door, hold } = held();
    const { peer, session } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId }));
    peer.end();
    await flush();
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    door.release();
    expect((await peer.response(1)).result).toBeDefined();
    expect(await session.closed).toMatchObject({ kind: 'input-ended' });
  });

  test('cancels a task that does not end within the drain time [LIFE-16]', async () => {
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

  test('waits for a task that cleans up after its cancellation [LIFE-15]', async () => {
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

test('fails only the task whose date is invalid with -32603, and continues the session [FLOW-04]', async () => {
  const times = [new Date(0), new Date(0), new Date(Number.NaN)];
  const wallClock = () => times.shift() ?? new Date(0);
  const { peer, facts } = await operate({ tools: [instant] }, { wallClock });
  await begin(peer, 'instant');
  await facts.next('handler.failed');
  expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  expect((await begin(peer, 'instant')).status).toBe('working');
});

const outcomes = {
  text: () => 'plain',
  result: () => ({ content: [], structured: { n: 1 }, _meta: { 'x/y': 1 } }),
  late: () => Promise.resolve('late'),
} as const;
const failures = {
  'a ToolError': () => {
    throw new ToolError('Nothing there', { code: 'NOT_FOUND' });
  },
  'an unexpected error': () => Promise.reject(new Error('the disk is full')),
  'what is no result': () => 5,
  'an error result': () => ({ content: [{ type: 'text', text: 'bad' }], isError: true }),
} as const;
const errors = {
  'a ProtocolError': () => {
    throw new ProtocolError(-32602, 'wrong', { field: 'a' });
  },
} as const;
const kinds = { ...outcomes, ...failures, ...errors };
const any = taskTool('any', ({ kind }) => kinds[kind as keyof typeof kinds]());

everywhere('the result of a task', memoryAndHttp, () => {
  test.each([
    ...Object.keys(outcomes).map((kind) => [kind, 'completed'] as const),
    ...Object.keys(failures).map((kind) => [kind, 'failed'] as const),
  ])(
    'gives the result that the call would have had: %s, %s [TASKS-14] [TASKS-24]',
    async (kind, status) => {
      const { peer } = await operate({ tools: [any] });
      const plain = await peer.call('any', { kind });
      const { taskId } = await begin(peer, 'any', { arguments: { kind } });
      const { _meta, ...result } = await peer.ask('tasks/result', { taskId });
      const { _meta: plainMeta, ...plainResult } = plain;
      expect(result).toEqual(plainResult);
      expect(_meta).toEqual({ ...(plainMeta as JsonObject), ...related(taskId) });
      expect((await change(peer)).status).toBe(status);
    },
  );

  test.each(Object.keys(errors))(
    'gives the error that the call would have had: %s [TASKS-14] [TASKS-24]',
    async (kind) => {
      const { peer } = await operate({ tools: [any] });
      peer.send(request(1, 'tools/call', { name: 'any', arguments: { kind } }));
      const plain = await peer.error(1);
      const { taskId } = await begin(peer, 'any', { arguments: { kind } });
      expect(await change(peer)).toMatchObject({
        status: 'failed',
        statusMessage: plain.message,
      });
      peer.send(request(2, 'tasks/result', { taskId }));
      expect(await peer.error(2)).toEqual(plain);
    },
  );

  test('fails a task with -32603 if its result is not JSON [FLOW-05]', async () => {
    const huge = taskTool('huge', () => ({ content: [], structured: { n: 1n } }));
    const { peer, facts } = await operate({ tools: [huge] });
    const { taskId } = await begin(peer, 'huge');
    expect((await change(peer)).status).toBe('failed');
    expect(facts.of('response.unserializable')).toHaveLength(1);
    peer.send(request(1, 'tasks/result', { taskId }));
    expect((await peer.error(1)).code).toBe(-32603);
  });

  test('keeps the result as returned by the handler, however often it is fetched [TASKS-14]', async () => {
    const structured = { n: 1 };
    const { peer } = await operate({ tools: [taskTool('mutable', () => ({ structured }))] });
    const { taskId } = await begin(peer, 'mutable');
    await change(peer);
    structured.n = 2;
    for (let i = 0; i < 2; i++) {
      const result = await peer.ask('tasks/result', { taskId });
      expect(result['structuredContent']).toEqual({ n: 1 });
    }
  });

  test('identifies the task by the params, whatever the metadata says [TASKS-16]', async () => {
    const { peer } = await operate({ tools: [any] });
    const one = await begin(peer, 'any', { arguments: { kind: 'text' } });
    const other = await begin(peer, 'any', { arguments: { kind: 'late' } });
    const params = { taskId: one.taskId, _meta: related(other.taskId) };
    expect(textOf(await peer.ask('tasks/result', params))).toBe('plain');
    expect(await peer.ask('tasks/get', params)).toMatchObject({ taskId: one.taskId });
    for (const frame of [await look(peer, one), await peer.ask('tasks/list')]) {
      expect(JSON.stringify(frame)).not.toContain(relatedKey);
    }
  });
});

everywhere('tasks/result of a working task', memoryAndHttp, () => {
  test('answers all requests for the result when the task ends [TASKS-13]', async () => {
    const { door, hold } = held();
    const { peer } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold', { arguments: { n: 1 } });
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId }), request(2, 'tasks/result', { taskId }));
    await peer.quiet();
    expect(peer.received.filter((frame) => 'id' in (frame as object))).toHaveLength(3);
    door.release();
    for (const id of [1, 2]) expect(textOf((await peer.response(id)).result)).toBe('{"n":1}');
  });

  test('cancels only the request for the result, not the task [TASKS-13] [CANCEL-01]', async () => {
    const { door, hold } = held();
    const { peer } = await operate({ tools: [hold] });
    const task = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId: task.taskId }));
    peer.send(cancelled(1));
    await peer.quiet();
    expect((await look(peer, task)).status).toBe('working');
    door.release();
    expect((await change(peer)).status).toBe('completed');
    expect(textOf(await peer.ask('tasks/result', { taskId: task.taskId }))).toBe('{}');
  });

  test('does not count waiting requests for results as running, and limits them [FLOW-02]', async () => {
    const { door, hold } = held();
    const limits = { maxRunning: 1, maxWaiting: 3 };
    const { peer } = await operateWarm({ tools: [hold] }, { limits });
    const { taskId } = await begin(peer, 'hold');
    await door.arrived();
    for (const id of [1, 2, 3]) peer.send(request(id, 'tasks/result', { taskId }));
    peer.send(request(4, 'tasks/result', { taskId }));
    expect(await peer.error(4)).toMatchObject({ code: -32000, data: { retryable: true } });
    expect(textOf(await peer.call(echo.name))).toBe('{}');
    peer.send(cancelled(2));
    await peer.quiet();
    peer.send(request(5, 'tasks/result', { taskId }));
    await peer.quiet();
    door.release();
    for (const id of [1, 3, 5]) expect((await peer.response(id)).result).toBeDefined();
  });
});

everywhere('cancellation of a task', memoryAndHttp, () => {
  test('stops the handler and cancels the task before answering [TASKS-21]', async () => {
    const { door, hold, reasons } = held();
    const { peer } = await operate({ tools: [hold] });
    const task = await begin(peer, 'hold');
    await door.arrived();
    peer.send(request(1, 'tasks/result', { taskId: task.taskId }));
    await peer.quiet();
    const answer = await peer.ask('tasks/cancel', { taskId: task.taskId });
    expect(answer).toEqual({
      ...task,
      status: 'cancelled',
      statusMessage: 'The client cancelled the task',
    });
    expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    expect(await change(peer)).toEqual(answer);
    expect(await peer.error(1)).toMatchObject({ code: -32000, data: { reason: 'cancelled' } });
    expect(await look(peer, task)).toEqual(answer);
  });

  test('keeps a task cancelled even if its handler settles afterwards [TASKS-22]', async () => {
    const door = gate();
    const stubborn = taskTool('stubborn', async ({ fail }) => {
      await door.pass();
      if (fail === true) throw new Error('too late');
      return 'too late';
    });
    const { peer } = await operate({ tools: [stubborn] });
    for (const fail of [true, false]) {
      const task = await begin(peer, 'stubborn', { arguments: { fail } });
      await door.arrived();
      await peer.ask('tasks/cancel', { taskId: task.taskId });
      door.release(1);
      await peer.quiet();
      expect((await look(peer, task)).status).toBe('cancelled');
    }
    expect(peer.count('notifications/tasks/status')).toBe(2);
  });

  test.each([
    ['completed', 'text'],
    ['failed', 'an error result'],
  ])('rejects a task request that has %s with -32602 [TASKS-20]', async (status, kind) => {
    const { peer } = await operate({ tools: [any] });
    const task = await begin(peer, 'any', { arguments: { kind } });
    await change(peer);
    peer.send(request(1, 'tasks/cancel', { taskId: task.taskId }));
    const { code, message } = await peer.error(1);
    expect(code).toBe(-32602);
    expect(message).toContain(`'${status}'`);
    expect((await look(peer, task)).status).toBe(status);
  });

  test('rejects a second cancellation with -32602 [TASKS-20]', async () => {
    const { hold } = held();
    const { peer } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await peer.ask('tasks/cancel', { taskId });
    peer.send(request(1, 'tasks/cancel', { taskId }));
    expect((await peer.error(1)).code).toBe(-32602);
  });
});
