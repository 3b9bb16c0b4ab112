import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, defineTool, memory, toSdkTransport } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { cancelled, gate, request } from 'mcp-actors/testing';
import type { ScriptedPeer } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import {
  before,
  eachRevision,
  eachRevisionAndHttp,
  everywhere,
  memoryAndHttp,
} from './everywhere.ts';
import { connect, echo, operate, serve, textOf } from './serving.ts';
import { begin, change, held, look, related, relatedKey, taskTool } from './task-serving.ts';

const instant = taskTool('instant', (args) => JSON.stringify(args));
const required = taskTool('required', () => 'ran', 'required');
const forbidden = taskTool('forbidden', () => 'ran', 'forbidden');
const methods = ['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel'];

everywhere(
  'a session that knows no tasks',
  before('2025-11-25', eachRevisionAndHttp),
  (combination) => {
    test('ignores "task" where the revision has no tasks [TASKS-01]', async () => {
      const { peer } = await operate({ tools: [instant, required, forbidden] }, combination);
      for (const name of ['instant', 'required', 'forbidden']) {
        const result = await peer.ask('tools/call', { name, task: { ttl: 'nonsense' } });
        expect(Object.keys(result), name).toEqual(['content']);
        expect(await peer.call(name)).toHaveProperty('content');
      }
      expect(peer.count('notifications/tasks/status')).toBe(0);
    });

    test('declares and offers no tasks where the revision has none [TASKS-03] [BASE-06]', async () => {
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

everywhere('a server without task tools', eachRevision, () => {
  test('ignores "task" and offers no task methods on a server without task tools [TASKS-01] [TASKS-03]', async () => {
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

everywhere('a server with task tools', memoryAndHttp, () => {
  test('declares tasks, and the taskSupport of each tool [TASKS-03]', async () => {
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

  test('rejects the unsupported way of calling a tool with -32601 [TASKS-02]', async () => {
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
  ])('rejects a "task" that is %s [TOOLS-01]', async (_, task) => {
    const { peer } = await operate({ tools: [instant] });
    peer.send(request(1, 'tools/call', { name: 'instant', task }));
    expect((await peer.error(1)).code).toBe(-32602);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  });

  test('creates no task for an unknown tool [TOOLS-01]', async () => {
    const { peer } = await operate({ tools: [instant] });
    peer.send(request(1, 'tools/call', { name: 'nobody', task: {} }));
    expect((await peer.error(1)).code).toBe(-32602);
    expect(await peer.ask('tasks/list')).toEqual({ tasks: [] });
  });
});

everywhere('the lifecycle of a task', memoryAndHttp, () => {
  test('answers at once, works, ends, and gives its result [TASKS-05] [TASKS-06] [TASKS-08] [TASKS-12] [TASKS-15] [TASKS-17]', async () => {
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

// Over HTTP the answer and the change use different streams, which have no common order.
describe('a task on one stream', () => {
  test('that ends in the same turn is reported after the answer to its request [TASKS-05] [TASKS-12]', async () => {
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

test.each(['Optional', true, null])('rejects the taskSupport %j', (taskSupport) => {
  const odd = { name: 'odd', description: 'Odd', taskSupport: taskSupport as never };
  const define = () => defineTool({ ...odd, handler: () => '' });
  expect(define).toThrow(/"odd"/);
  expect(define).toThrow(TypeError);
});

everywhere('a task', memoryAndHttp, () => {
  test('is not cancelled with its answered request [TASKS-27]', async () => {
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

  test('frees the id of its request for another one [CANCEL-04]', async () => {
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

  test('shows the status message set by its handler', async () => {
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

  test('counts towards no limit of requests, and blocks none [FLOW-01]', async () => {
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
  test('has an unguessable id [TASKS-04]', async () => {
    const { peer } = await operate({ tools: [instant] });
    const ids = new Set<string>();
    for (let i = 0; i < 20; i++) ids.add((await begin(peer, 'instant')).taskId);
    expect(ids.size).toBe(20);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
  });

  test('passes through the middleware when it runs, with its outcome', async () => {
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

const capabilities = { sampling: {}, elicitation: {} };
const elicit = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } };
const sample = { messages: [], maxTokens: 1 };

/** Sends one request after the other and returns their outcomes. */
const curious = taskTool('curious', async (_, context) => {
  const first = await context.request('elicitation/create', elicit);
  const second = await context.request('sampling/createMessage', sample).catch(String);
  return JSON.stringify([first, second]);
});

/** Sends two requests at once. */
const double = taskTool('double', async (_, context) => {
  const answers = await Promise.all([
    context.request('elicitation/create', elicit),
    context.request('sampling/createMessage', sample),
  ]);
  return JSON.stringify(answers.length);
});

const statuses = (peer: ScriptedPeer) =>
  peer.received
    .filter((frame) => (frame as JsonObject)['method'] === 'notifications/tasks/status')
    .map((frame) => (frame as { params: { status: string } }).params.status);

everywhere('a task that requires input', memoryAndHttp, () => {
  test('is input_required until its request is answered, and the request names the task [TASKS-07] [TASKS-15]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    const task = await begin(peer, 'curious');
    const question = await peer.request('elicitation/create');
    expect(question.params).toEqual({ ...elicit, _meta: related(task.taskId) });
    expect(await look(peer, task)).toMatchObject({
      status: 'input_required',
      statusMessage: "Waiting for the client's answer to elicitation/create",
    });
    peer.answer(question, { action: 'decline' });
    const second = await peer.request('sampling/createMessage');
    peer.refuse(second, { code: -1, message: 'No' });
    const result = await peer.ask('tasks/result', { taskId: task.taskId });
    expect(textOf(result)).toContain('{"action":"decline"},"RuntimeError');
    expect(statuses(peer)).toEqual([
      'input_required',
      'working',
      'input_required',
      'working',
      'completed',
    ]);
  });

  test('is reported as input_required before the request, so that polling clients fetch the result [TASKS-07]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    await begin(peer, 'curious');
    await peer.request('elicitation/create');
    const methods = (peer.received as readonly JsonObject[]).flatMap(({ method }) => method ?? []);
    expect(methods).toEqual(['notifications/tasks/status', 'elicitation/create']);
  });

  test('is working again once all requests are answered [TASKS-07]', async () => {
    const { peer } = await operate({ tools: [double] }, { capabilities });
    const task = await begin(peer, 'double');
    const question = await peer.request('elicitation/create');
    peer.answer(question, { action: 'cancel' });
    await peer.quiet();
    expect((await look(peer, task)).status).toBe('input_required');
    peer.answer(await peer.request('sampling/createMessage'), {
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'hi' },
    });
    await peer.ask('tasks/result', { taskId: task.taskId });
    expect(statuses(peer)).toEqual(['input_required', 'working', 'completed']);
  });

  test('withdraws its requests when cancelled, naming the task [CANCEL-05] [TASKS-15] [TASKS-21]', async () => {
    const { peer } = await operate({ tools: [double] }, { capabilities });
    const { taskId } = await begin(peer, 'double');
    const questions = [
      await peer.request('elicitation/create'),
      await peer.request('sampling/createMessage'),
    ];
    await peer.ask('tasks/cancel', { taskId });
    for (const { id } of questions) {
      const { params } = await peer.notification('notifications/cancelled');
      expect(params).toMatchObject({ requestId: id, _meta: related(taskId) });
    }
    expect(statuses(peer)).toEqual(['input_required', 'cancelled']);
  });

  test('is not input_required if nothing was sent for lack of a capability [LIFE-12]', async () => {
    const careful = taskTool('careful', (_, context) =>
      context.request('elicitation/create', elicit).catch(String),
    );
    const { peer } = await operate({ tools: [careful] });
    const { taskId } = await begin(peer, 'careful');
    expect(textOf(await peer.ask('tasks/result', { taskId }))).toContain('elicitation');
    expect(statuses(peer)).toEqual(['completed']);
  });

  test('keeps metadata of its own in requests, and adds a progress token [TASKS-15]', async () => {
    const told: unknown[] = [];
    const own = taskTool('own', async (_, context) => {
      await context.request(
        'custom/question',
        { _meta: { 'x/y': 1 } },
        { onProgress: (progress) => told.push(progress) },
      );
      return 'done';
    });
    const { peer } = await operate({ tools: [own] });
    const { taskId } = await begin(peer, 'own');
    const question = await peer.request('custom/question');
    expect(question.params).toEqual({
      _meta: { 'x/y': 1, ...related(taskId), progressToken: question.id },
    });
    peer.answer(question, {});
    await peer.ask('tasks/result', { taskId });
  });
});

everywhere('messages of a task', memoryAndHttp, () => {
  test('sends progress with the token of its request, while it runs [TASKS-15] [TASKS-18] [PROGRESS-02]', async () => {
    const door = gate();
    const counting = taskTool('counting', async (_, context) => {
      context.progress(1, { total: 2 });
      await door.pass();
      context.progress(2, { total: 2 });
      await door.pass();
      context.progress(3);
      return 'done';
    });
    const { peer } = await operate({ tools: [counting] });
    const task = await begin(peer, 'counting', { _meta: { progressToken: 'p' } });
    const { taskId } = task;
    for (const progress of [1, 2]) {
      const { params } = await peer.notification('notifications/progress');
      expect(params).toEqual({ progressToken: 'p', progress, total: 2, _meta: related(taskId) });
      await door.arrived(progress);
      if (progress === 1) door.release(1);
    }
    await peer.ask('tasks/cancel', { taskId });
    door.release();
    await peer.quiet();
    expect(peer.count('notifications/progress')).toBe(2);
  });

  test('sends log messages until it has ended [TASKS-15]', async () => {
    const door = gate();
    const talking = taskTool('talking', async (_, { log }) => {
      log.warning('begun');
      await door.pass();
      log.warning('too late');
      return 'done';
    });
    const { peer } = await operate({ tools: [talking], logging: {} });
    const { taskId } = await begin(peer, 'talking');
    const { params } = await peer.notification('notifications/message');
    expect(params).toEqual({ level: 'warning', data: 'begun', _meta: related(taskId) });
    await door.arrived();
    await peer.ask('tasks/cancel', { taskId });
    door.release();
    await peer.quiet();
    expect(peer.count('notifications/message')).toBe(1);
  });

  test('names no task in messages of an ordinary call [TASKS-15]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    peer.send(request(1, 'tools/call', { name: 'curious', _meta: { progressToken: 1 } }));
    const question = await peer.request('elicitation/create');
    expect(JSON.stringify(question)).not.toContain(relatedKey);
    peer.answer(question, { action: 'cancel' });
    peer.refuse(await peer.request('sampling/createMessage'), { code: -1, message: 'No' });
    expect(JSON.stringify(await peer.response(1))).not.toContain(relatedKey);
  });

  test('reports a changed status with the whole task and no metadata [TASKS-16] [TASKS-17]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    const task = await begin(peer, 'curious');
    const told = await change(peer);
    expect(told).toEqual(await look(peer, task));
    expect(told).not.toHaveProperty('_meta');
  });
});

test('serves the official client: polling, answering a request, and streaming the result [TASKS-07] [TASKS-15]', async () => {
  const asking = taskTool('asking', async (_, context) => {
    const answer = await context.request('elicitation/create', {
      message: 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return JSON.stringify(answer['content']);
  });
  const server = createMcpServer({ name: 's', version: '1', tools: [asking] });
  const { transport, peer } = memory();
  const session = server.listen(transport, { limits: { taskPollIntervalMs: 1 } });
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities: { elicitation: {} } },
  );
  const complaints: unknown[] = [];
  client.onerror = (error) => complaints.push(error);
  const asked: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params._meta?.[relatedKey]);
    return { action: 'accept', content: { name: 'Ada' } };
  });
  await client.connect(toSdkTransport(peer));
  await client.listTools();

  const messages: string[] = [];
  let taskId: string | undefined;
  const call = { name: 'asking', arguments: {} };
  const { tasks } = client.experimental;
  const ttl = 60_000;
  for await (const message of tasks.callToolStream(call, CallToolResultSchema, { task: { ttl } })) {
    messages.push(message.type);
    if (message.type === 'taskCreated') ({ taskId } = message.task);
    if (message.type === 'result') {
      expect(message.result.content).toEqual([{ type: 'text', text: '{"name":"Ada"}' }]);
    }
  }
  expect([messages[0], messages.at(-1)]).toEqual(['taskCreated', 'result']);
  expect(asked).toEqual([{ taskId }]);
  expect(complaints).toEqual([]);
  await client.close();
  await session.closed;
});
