import { ProtocolError, ToolError } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { cancelled, gate, request } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { everywhere, memoryAndHttp } from './everywhere.ts';
import { echo, operate, operateWarm, textOf } from './serving.ts';
import { begin, change, held, look, related, relatedKey, taskTool } from './task-serving.ts';

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
  ])('is what the call would have given: %s, %s [TASKS-14] [TASKS-24]', async (kind, status) => {
    const { peer } = await operate({ tools: [any] });
    const plain = await peer.call('any', { kind });
    const { taskId } = await begin(peer, 'any', { arguments: { kind } });
    const { _meta, ...result } = await peer.ask('tasks/result', { taskId });
    const { _meta: plainMeta, ...plainResult } = plain;
    expect(result).toEqual(plainResult);
    expect(_meta).toEqual({ ...(plainMeta as JsonObject), ...related(taskId) });
    expect((await change(peer)).status).toBe(status);
  });

  test.each(Object.keys(errors))(
    'is the error that the call would have given: %s [TASKS-14] [TASKS-24]',
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

  test('that JSON cannot hold is -32603, and the task has failed [FLOW-05]', async () => {
    const huge = taskTool('huge', () => ({ content: [], structured: { n: 1n } }));
    const { peer, facts } = await operate({ tools: [huge] });
    const { taskId } = await begin(peer, 'huge');
    expect((await change(peer)).status).toBe('failed');
    expect(facts.of('response.unserializable')).toHaveLength(1);
    peer.send(request(1, 'tasks/result', { taskId }));
    expect((await peer.error(1)).code).toBe(-32603);
  });

  test('is as it was when the handler gave it, however often it is fetched [TASKS-14]', async () => {
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

  test('is told of a task by the params alone, whatever the metadata says [TASKS-16]', async () => {
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

everywhere('tasks/result of a task that works', memoryAndHttp, () => {
  test('waits for the end, for each that asks [TASKS-13]', async () => {
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

  test('may be cancelled: the task goes on [TASKS-13] [CANCEL-01]', async () => {
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

  test('takes no place among the requests that run, and so many may wait [FLOW-02]', async () => {
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

everywhere('cancelling a task', memoryAndHttp, () => {
  test('stops its handler, and the task is cancelled before the answer [TASKS-21]', async () => {
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

  test('is final, though the handler succeeds or fails after it [TASKS-22]', async () => {
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
  ])('that has %s is refused with -32602 [TASKS-20]', async (status, kind) => {
    const { peer } = await operate({ tools: [any] });
    const task = await begin(peer, 'any', { arguments: { kind } });
    await change(peer);
    peer.send(request(1, 'tasks/cancel', { taskId: task.taskId }));
    const { code, message } = await peer.error(1);
    expect(code).toBe(-32602);
    expect(message).toContain(`'${status}'`);
    expect((await look(peer, task)).status).toBe(status);
  });

  test('twice is refused with -32602 [TASKS-20]', async () => {
    const { hold } = held();
    const { peer } = await operate({ tools: [hold] });
    const { taskId } = await begin(peer, 'hold');
    await peer.ask('tasks/cancel', { taskId });
    peer.send(request(1, 'tasks/cancel', { taskId }));
    expect((await peer.error(1)).code).toBe(-32602);
  });
});
