import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { cancelled, gate, request } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import {
  before,
  eachRevision,
  eachRevisionAndHttp,
  everywhere,
  memoryAndHttp,
} from './everywhere.ts';
import { connect, echo, operate, serve, textOf } from './serving.ts';
import { begin, change, held, look, related, taskTool } from './task-serving.ts';

const instant = taskTool('instant', (args) => JSON.stringify(args));
const required = taskTool('required', () => 'ran', 'required');
const forbidden = taskTool('forbidden', () => 'ran', 'forbidden');
const methods = ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel'];

everywhere(
  'a session that knows no tasks',
  before('2025-11-25', eachRevisionAndHttp),
  (combination) => {
    test('every tool is an ordinary one, and "task" is ignored [TASKS-01]', async () => {
      const { peer } = await operate({ tools: [instant, required, forbidden] }, combination);
      for (const name of ['instant', 'required', 'forbidden']) {
        const result = await peer.ask('tools/call', { name, task: { ttl: 'nonsense' } });
        expect(Object.keys(result), name).toEqual(['content']);
        expect(await peer.call(name)).toHaveProperty('content');
      }
      expect(peer.count('notifications/tasks/status')).toBe(0);
    });

    test('nothing of them is declared or offered [TASKS-03] [BASE-06]', async () => {
      const { peer } = serve({ tools: [instant] }, combination);
      const reply = await peer.handshake({ protocolVersion: combination.revision });
      expect(reply['capabilities']).not.toHaveProperty('tasks');
      const { tools } = await peer.ask('tools/list');
      expect(JSON.stringify(tools)).not.toContain('execution');
      for (const [id, method] of methods.entries()) {
        peer.send(request(id, method, { taskId: 'x' }));
        expect((await peer.error(id)).code, method).toBe(-32601);
      }
    });
  },
);

everywhere('a server none of whose tools runs as a task', eachRevision, () => {
  test('declares none, ignores "task", and offers no method [TASKS-01] [TASKS-03]', async () => {
    const { peer } = serve({ tools: [echo, forbidden] });
    expect((await peer.handshake())['capabilities']).not.toHaveProperty('tasks');
    expect(textOf(await peer.ask('tools/call', { name: 'echo', task: {} }))).toBe('{}');
    expect(textOf(await peer.ask('tools/call', { name: 'forbidden', task: {} }))).toBe('ran');
    for (const [id, method] of methods.entries()) {
      peer.send(request(id, method, { taskId: 'x' }));
      expect((await peer.error(id)).code, method).toBe(-32601);
    }
  });
});

everywhere('a server some of whose tools run as tasks', memoryAndHttp, () => {
  test('declares it, and says of each tool what it said itself [TASKS-03]', async () => {
    const { peer } = serve({ tools: [echo, instant, required, forbidden] });
    expect((await peer.handshake())['capabilities']).toMatchObject({
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    const { tools } = await peer.ask('tools/list');
    expect((tools as JsonObject[]).map(({ execution }) => execution)).toEqual([
      undefined,
      { taskSupport: 'optional' },
      { taskSupport: 'required' },
      { taskSupport: 'forbidden' },
    ]);
  });

  test('refuses the other way of calling a tool with -32601 [TASKS-02]', async () => {
    const { peer } = await operate({ tools: [echo, required, forbidden, instant] });
    peer.send(
      request(1, 'tools/call', { name: 'required' }),
      request(2, 'tools/call', { name: 'forbidden', task: {} }),
      request(3, 'tools/call', { name: 'echo', task: {} }),
    );
    for (const [id, name] of [
      [1, 'required'],
      [2, 'forbidden'],
      [3, 'echo'],
    ] as const) {
      const { code, message } = await peer.error(id);
      expect(code).toBe(-32601);
      expect(message).toContain(`"${name}"`);
    }
    expect(textOf(await peer.call('instant'))).toBe('{}');
    expect((await begin(peer, 'required')).status).toBe('working');
  });

  test.each([
    ['null', null],
    ['a list', []],
    ['a text', 'x'],
    ['with a ttl that is a text', { ttl: '1' }],
    ['with a ttl below 0', { ttl: -1 }],
  ])('refuses a "task" that is %s [TOOLS-01]', async (_, task) => {
    const { peer } = await operate({ tools: [instant] });
    peer.send(request(1, 'tools/call', { name: 'instant', task }));
    expect((await peer.error(1)).code).toBe(-32602);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  });

  test('makes no task of a call of no tool [TOOLS-01]', async () => {
    const { peer } = await operate({ tools: [instant] });
    peer.send(request(1, 'tools/call', { name: 'nobody', task: {} }));
    expect((await peer.error(1)).code).toBe(-32602);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  });
});

everywhere('the life of a task', memoryAndHttp, () => {
  test('is answered at once, works, ends, and gives its result [TASKS-05] [TASKS-06] [TASKS-08] [TASKS-12] [TASKS-15] [TASKS-17]', async () => {
    const { door, hold } = held();
    const { peer, clock } = await operate({ tools: [hold] });
    clock.increment(1000);
    const created = await peer.ask('tools/call', {
      name: 'hold',
      arguments: { n: 1 },
      task: { ttl: 60_000 },
    });
    const begun = created['task'] as Awaited<ReturnType<typeof begin>>;
    expect(created).toEqual({
      task: {
        taskId: expect.any(String) as string,
        status: 'working',
        createdAt: '1970-01-01T00:00:01.000Z',
        lastUpdatedAt: '1970-01-01T00:00:01.000Z',
        ttl: 60_000,
        pollInterval: 1000,
      },
      _meta: related(begun.taskId),
    });
    await door.arrived();
    clock.increment(500);
    expect(await look(peer, begun)).toEqual(begun);
    door.release();
    const ended = { ...begun, status: 'completed', lastUpdatedAt: '1970-01-01T00:00:01.500Z' };
    expect(await change(peer)).toEqual(ended);
    expect(await look(peer, begun)).toEqual(ended);
    expect(await peer.ask('tasks/result', { taskId: begun.taskId })).toEqual({
      content: [{ type: 'text', text: '{"n":1}' }],
      _meta: related(begun.taskId),
    });
  });
});

// Over HTTP the answer and the change come on streams of their own, which have no order.
describe('a task on one stream', () => {
  test('that ends in the same turn is told of after the answer to its request [TASKS-05] [TASKS-12]', async () => {
    const { peer } = await operate({ tools: [instant] });
    peer.send(request(1, 'tools/call', { name: 'instant', task: {} }));
    const { result } = await peer.response(1);
    expect(result).toMatchObject({ task: { status: 'working' } });
    const { taskId } = await change(peer);
    const order = peer.received.filter((frame) => JSON.stringify(frame).includes(taskId));
    expect(order[0]).toHaveProperty('id', 1);
    expect(order[1]).toHaveProperty('params.status', 'completed');
  });
});

test.each(['Optional', true, null])('taskSupport cannot be %j', (taskSupport) => {
  const odd = { name: 'odd', description: 'Odd', taskSupport: taskSupport as never };
  const define = () => defineTool({ ...odd, handler: () => '' });
  expect(define).toThrow(/"odd"/);
  expect(define).toThrow(TypeError);
});

everywhere('a task', memoryAndHttp, () => {
  test('is not cancelled with its request, which is answered already [TASKS-27]', async () => {
    const { door, hold, reasons } = held();
    const { peer, facts } = await operate({ tools: [hold] });
    peer.send(request(1, 'tools/call', { name: 'hold', task: {} }));
    await peer.response(1);
    await door.arrived();
    peer.send(cancelled(1));
    await facts.next('cancellation.ignored');
    expect(reasons).toEqual([]);
    door.release();
    expect((await change(peer)).status).toBe('completed');
  });

  test('leaves the id of its request free: what ends first answers for itself alone [CANCEL-04]', async () => {
    const { door, hold } = held();
    const { peer } = await operate({ tools: [hold, echo] });
    peer.send(request(1, 'tools/call', { name: 'hold', task: {} }));
    await peer.response(1);
    await door.arrived();
    peer.send(request(1, 'tools/call', { name: 'hold', arguments: { second: true } }));
    await door.arrived(2);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('{"second":true}');
    expect((await change(peer)).status).toBe('completed');
  });

  test('is seen by its handler, which may say how far it is', async () => {
    const door = gate();
    const steps = taskTool('steps', async (_, { task }) => {
      task?.describe('half of it');
      await door.pass();
      return task?.taskId ?? 'no task';
    });
    const { peer } = await operate({ tools: [steps] });
    const begun = await begin(peer, 'steps');
    await door.arrived();
    expect(await look(peer, begun)).toMatchObject({
      status: 'working',
      statusMessage: 'half of it',
    });
    expect(peer.count('notifications/tasks/status')).toBe(0);
    door.release();
    expect(await change(peer)).not.toHaveProperty('statusMessage');
    const { taskId } = begun;
    expect(textOf(await peer.ask('tasks/result', { taskId }))).toBe(taskId);
    expect(textOf(await peer.call('steps'))).toBe('no task');
  });

  test('runs outside the cap on requests, and holds up nobody [FLOW-01]', async () => {
    const { door, hold } = held();
    const tools = [hold, echo];
    const { peer } = await operate({ tools }, { limits: { maxRunning: 1, maxTasks: 3 } });
    const tasks = [await begin(peer, 'hold'), await begin(peer, 'hold'), await begin(peer, 'hold')];
    await door.arrived(3);
    peer.send(request('r', 'tasks/result', { taskId: tasks[0]?.taskId }));
    expect(textOf(await peer.call('echo'))).toBe('{}');
    door.release();
    expect((await peer.response('r')).result).toBeDefined();
  });
});

describe('a task', () => {
  test('has an id that says nothing of the next [TASKS-04]', async () => {
    const { peer } = await operate({ tools: [instant] });
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) ids.add((await begin(peer, 'instant')).taskId);
    expect(ids.size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
  });

  test('goes through the middleware when it runs, with its outcome', async () => {
    const seen: unknown[] = [];
    const server = createMcpServer({ name: 's', version: '1', tools: [instant] });
    server.use(async ({ method, context }, next) => {
      if (method !== 'tools/call') return next();
      seen.push(`${method} as a task: ${context.task !== undefined}`);
      const result = await next();
      seen.push(`gave ${textOf(result)}`);
      return result;
    });
    const { peer, session } = connect(server);
    await peer.handshake();
    await begin(peer, 'instant');
    await change(peer);
    expect(seen).toEqual(['tools/call as a task: true', 'gave {}']);
    await session[Symbol.asyncDispose]();
  });
});
