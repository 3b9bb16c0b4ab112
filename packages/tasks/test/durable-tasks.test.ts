/** Tasks that are written down, over a store in memory that can be held and can fail. */
import { createMcpServer } from 'mcp-actors';
import type { JsonObject, Limits, McpSession, Task, TaskStore } from 'mcp-actors';
import {
  TestClock,
  cancelled,
  scriptedConversation,
  gate,
  request,
  flush,
} from 'mcp-actors/testing';
import type { ScriptedPeer } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { begin, change, held, look, taskTool } from '../../../test/contract/task-serving.ts';
import { TaskWorker } from '../src/task-worker.ts';
import { MemoryTaskStore, TaskTable } from './memory-task-store.ts';

const processEnded = 'The process that ran it has ended';

/** A process: a worker, and a session of a client of 2025-11-25. */
async function start(table: TaskTable, tools = [held().hold], limits: Partial<Limits> = {}) {
  const clock = new TestClock();
  const store = new MemoryTaskStore(table);
  const facts: string[] = [];
  const report = ({ name }: { readonly name: string }) => void facts.push(name);
  const worker = new TaskWorker({ store, server: 'shop', clock, report });
  await worker.start();
  const server = createMcpServer({ name: 'shop', version: '1.0.0', tools });
  const join = async () => {
    const conversation = scriptedConversation(server, { durable: worker, clock, limits });
    onTestFinished(async () => {
      await end(conversation.session, clock);
    });
    await conversation.peer.handshake();
    return conversation;
  };
  const { facts: told, ...joined } = await join();
  return { ...joined, told, store, worker, clock, facts, server, join };
}

/** Ends a session without waiting for its handlers. */
async function end(session: McpSession, clock: TestClock) {
  if (session.actor.getSnapshot().status !== 'active') return;
  session.shutdown('the test is over', 0);
  clock.increment(1);
  await session.closed;
}

/** Lets the lease of whoever does not beat end. */
const endLeases = (table: TaskTable) => void (table.now += 500);

async function kept(store: TaskStore, taskId: string) {
  const { record } = (await store.read(taskId)) ?? {};
  const { text = '{}', ...rest } = record ?? {};
  return { ...rest, ...(JSON.parse(text) as { readonly task: Task; response?: JsonObject }) };
}

const refusal = async (peer: ScriptedPeer, id: number, method: string, params: object) => {
  peer.send(request(id, method, params as JsonObject));
  return peer.error(id);
};

describe('the number of tasks of a client', () => {
  const tooMany = { code: -32000, data: { reason: 'too-many-tasks', retryable: true } };
  const limits = { maxKeptTasks: 2 };

  test('is limited across processes, and a cancelled task frees its place everywhere', async () => {
    const table = new TaskTable();
    const [a, b] = [await start(table, undefined, limits), await start(table, undefined, limits)];
    const task = await begin(a.peer, 'hold');
    await begin(b.peer, 'hold');
    const more = { name: 'hold', task: {} };
    for (const { peer } of [a, b]) {
      expect(await refusal(peer, 7, 'tools/call', more)).toMatchObject(tooMany);
    }
    // Nothing of the refused ones is left.
    expect(await b.peer.ask('tasks/list')).toMatchObject({ tasks: [{}] });
    expect(table.tasks.size).toBe(2);
    await a.peer.ask('tasks/cancel', { taskId: task.taskId });
    await begin(b.peer, 'hold');
    expect(await refusal(b.peer, 8, 'tools/call', more)).toMatchObject(tooMany);
    expect(table.tasks.size).toBe(2);
  });

  test('still counts after a process has ended, until the tasks expire', async () => {
    const table = new TaskTable();
    const before = await start(table, undefined, limits);
    for (let n = 0; n < 2; n++) await begin(before.peer, 'hold');
    before.store.fault = () => new Promise(() => {});
    endLeases(table);
    const { peer } = await start(table, undefined, limits);
    const more = { name: 'hold', task: {} };
    expect(await refusal(peer, 7, 'tools/call', more)).toMatchObject(tooMany);
    table.now += 3_600_000;
    await begin(peer, 'hold');
  });
});

describe('a task is stored before its client learns', () => {
  test('that it was created', async () => {
    const { store, peer } = await start(new TaskTable());
    const writing = gate();
    store.fault = (method) => (method === 'create' ? writing.pass() : undefined);
    peer.send(request(7, 'tools/call', { name: 'hold', task: {} }));
    await flush();
    expect(peer.received.some((frame) => (frame as JsonObject)['id'] === 7)).toBe(false);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
    writing.release();
    const { task } = (await peer.response(7)).result as unknown as { task: Task };
    expect((await kept(store, task.taskId)).task).toEqual(task);
  });

  test('how it ended', async () => {
    const { store, peer, join } = await start(new TaskTable(), [taskTool('say', () => 'said')]);
    const { peer: other } = await join();
    const writing = gate();
    store.fault = (method) => (method === 'finish' ? writing.pass() : undefined);
    const task = await begin(peer, 'say');
    await flush();
    expect((await look(peer, task)).status).toBe('working');
    expect((await look(other, task)).status).toBe('working');
    expect(peer.count('notifications/tasks/status')).toBe(0);
    writing.release();
    expect((await change(peer)).status).toBe('completed');
    expect(await kept(store, task.taskId)).toMatchObject({
      state: 'ended',
      task: { status: 'completed' },
      response: { result: { content: [{ text: 'said' }] } },
    });
  });

  test('that it was cancelled', async () => {
    const { door, hold, reasons } = held();
    const { store, peer } = await start(new TaskTable(), [hold]);
    const task = await begin(peer, 'hold');
    await flush();
    const writing = gate();
    store.fault = (method) => (method === 'finish' ? writing.pass() : undefined);
    peer.send(request(7, 'tasks/cancel', { taskId: task.taskId }));
    await flush();
    expect([peer.count('notifications/tasks/status'), reasons]).toEqual([0, []]);
    door.release();
    await flush();
    writing.release();
    expect((await peer.response(7)).result).toMatchObject({ status: 'cancelled' });
    expect(await kept(store, task.taskId)).toMatchObject({ task: { status: 'cancelled' } });
    expect(peer.count('notifications/tasks/status')).toBe(1);
  });
});

describe('an unavailable store', () => {
  test('blocks only new tasks', async () => {
    const { store, peer, told } = await start(new TaskTable(), [taskTool('say', () => 'said')]);
    store.fault = () => {
      throw new Error('no space left');
    };
    const error = await refusal(peer, 7, 'tools/call', { name: 'say', task: {} });
    expect(error).toMatchObject({ code: -32000, data: { retryable: true } });
    expect(error.message).not.toContain('no space left');
    expect(await peer.call('say')).toMatchObject({ content: [{ text: 'said' }] });
    const missing = await refusal(peer, 8, 'tasks/get', { taskId: 'x' });
    expect(missing).toMatchObject({ code: -32000, data: { retryable: true } });
    expect(told.of('tasks.away')).toHaveLength(2);
    store.fault = () => {};
    expect((await begin(peer, 'say')).status).toBe('working');
    expect((await change(peer)).status).toBe('completed');
  });

  test("receives a task's end once it is available again", async () => {
    const { store, peer, clock } = await start(new TaskTable(), [taskTool('say', () => 'said')]);
    store.fault = (method) => {
      if (method === 'finish') throw new Error('away');
    };
    const task = await begin(peer, 'say');
    await flush();
    expect((await look(peer, task)).status).toBe('working');
    store.fault = () => {};
    clock.increment(1000);
    expect((await change(peer)).status).toBe('completed');
    expect(await kept(store, task.taskId)).toMatchObject({ state: 'ended' });
  });
});

describe('a process that died', () => {
  test('fails its tasks for clients of both eras, but not before its lease expires', async () => {
    const table = new TaskTable();
    const first = await start(table);
    const task = await begin(first.peer, 'hold');
    const { peer } = await start(table);
    expect(await look(peer, task)).toEqual(task);
    endLeases(table);
    const failed = { ...task, status: 'failed', statusMessage: processEnded };
    expect(await look(peer, task)).toEqual({ ...failed, lastUpdatedAt: expect.any(String) });
    const { taskId } = task;
    const data = { reason: 'process-ended', retryable: false };
    expect(await refusal(peer, 7, 'tasks/result', { taskId })).toMatchObject({
      code: -32000,
      message: processEnded,
      data,
    });
    expect((await refusal(peer, 8, 'tasks/cancel', { taskId })).code).toBe(-32602);
  });

  test('has its tasks ended by the next process that starts', async () => {
    const table = new TaskTable();
    const { peer } = await start(table);
    const task = await begin(peer, 'hold');
    endLeases(table);
    const { store, facts } = await start(table);
    expect(await kept(store, task.taskId)).toMatchObject({
      state: 'ended',
      task: { status: 'failed' },
    });
    expect(facts).toEqual(['task.orphaned']);
  });

  test('leaves the results of its ended tasks readable', async () => {
    const table = new TaskTable();
    const first = await start(table, [taskTool('say', () => 'said')]);
    const task = await begin(first.peer, 'say');
    const ended = await change(first.peer);
    endLeases(table);
    const { peer } = await start(table);
    expect(await look(peer, task)).toEqual({ ...ended, lastUpdatedAt: expect.any(String) });
    const { taskId } = task;
    expect(await peer.ask('tasks/result', { taskId })).toMatchObject({
      content: [{ text: 'said' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
  });

  test('aborts its handler and cannot write, if it was only stopped', async () => {
    const table = new TaskTable();
    const { hold, reasons } = held();
    const { peer, clock, facts } = await start(table, [hold]);
    const task = await begin(peer, 'hold');
    await flush();
    endLeases(table);
    await start(table);
    clock.increment(200);
    expect((await change(peer)).status).toBe('failed');
    expect(reasons).toHaveLength(1);
    expect(facts).toEqual(['task.overtaken']);
    expect(await look(peer, task)).toMatchObject({ statusMessage: processEnded });
  });
});

describe('a task that runs in another process', () => {
  test('can be awaited and cancelled from this process', async () => {
    const table = new TaskTable();
    const { door, hold } = held();
    const [first, second] = [await start(table, [hold]), await start(table)];
    const task = await begin(first.peer, 'hold', { arguments: { a: 1 } });
    const other = await begin(first.peer, 'hold');
    const { taskId } = task;
    await second.peer.ask('tasks/cancel', { taskId: other.taskId });
    first.clock.increment(200);
    expect(await change(first.peer)).toMatchObject({ taskId: other.taskId, status: 'cancelled' });
    second.peer.send(request(7, 'tasks/result', { taskId }));
    await flush();
    door.release();
    await flush();
    second.clock.increment(1000);
    expect((await second.peer.response(7)).result).toMatchObject({
      content: [{ text: '{"a":1}' }],
    });
  });
});

test('a request cancelled while its task is being stored leaves no running task', async () => {
  let runs = 0;
  const count = taskTool('count', () => `${++runs}`);
  const { store, peer } = await start(new TaskTable(), [count]);
  const writing = gate();
  let taskId = '';
  store.fault = (method) => (method === 'create' ? writing.pass() : undefined);
  const { create } = store;
  store.create = (task) => create.call(store, { ...task, taskId: (taskId = task.taskId) });
  peer.send(request(7, 'tools/call', { name: 'count', task: {} }));
  await flush();
  peer.send(cancelled(7));
  await flush();
  writing.release();
  await flush();
  expect(await kept(store, taskId)).toMatchObject({ task: { status: 'cancelled' } });
  expect(runs).toBe(0);
  expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
});

test('a shutdown fails the running tasks with its reason', async () => {
  const { store, worker, session, peer, clock } = await start(new TaskTable());
  const { taskId } = await begin(peer, 'hold');
  await flush();
  await end(session, clock);
  await worker.close();
  expect(await kept(store, taskId)).toMatchObject({
    state: 'ended',
    task: { status: 'failed', statusMessage: 'The server is shutting down' },
  });
});
