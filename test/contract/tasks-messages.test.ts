import type { JsonObject } from 'mcp-actors';
import { gate, request } from 'mcp-actors/testing';
import type { ScriptedPeer } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { everywhere, memoryAndHttp } from './everywhere.ts';
import { operate, textOf } from './serving.ts';
import { begin, change, look, related, relatedKey, taskTool } from './task-serving.ts';

const capabilities = { sampling: {}, elicitation: {} };
const elicit = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } };
const sample = { messages: [], maxTokens: 1 };

/** Asks one question after the other, and gives what came of each. */
const curious = taskTool('curious', async (_, context) => {
  const first = await context.request('elicitation/create', elicit);
  const second = await context.request('sampling/createMessage', sample).catch(String);
  return JSON.stringify([first, second]);
});

/** Asks two questions at once. */
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

everywhere('a task that asks the client', memoryAndHttp, () => {
  test('is input_required until it has the answer, and says whose question it is [TASKS-07] [TASKS-15]', async () => {
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

  test('is told to be input_required before the question, so that who polls asks for the result [TASKS-07]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    await begin(peer, 'curious');
    await peer.request('elicitation/create');
    const methods = (peer.received as readonly JsonObject[]).flatMap(({ method }) => method ?? []);
    expect(methods).toEqual(['notifications/tasks/status', 'elicitation/create']);
  });

  test('works again once it has all the answers [TASKS-07]', async () => {
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

  test('takes back its questions when it is cancelled, and says whose they were [CANCEL-05] [TASKS-15] [TASKS-21]', async () => {
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

  test('is not input_required where nothing is sent: the client has not the capability [LIFE-12]', async () => {
    const careful = taskTool('careful', (_, context) =>
      context.request('elicitation/create', elicit).catch(String),
    );
    const { peer } = await operate({ tools: [careful] });
    const { taskId } = await begin(peer, 'careful');
    expect(textOf(await peer.ask('tasks/result', { taskId }))).toContain('elicitation');
    expect(statuses(peer)).toEqual(['completed']);
  });

  test('keeps the metadata of its own, and asks for progress beside it [TASKS-15]', async () => {
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

everywhere('what a task sends', memoryAndHttp, () => {
  test('is progress with the token of its request, for as long as it runs [TASKS-15] [TASKS-18] [PROGRESS-02]', async () => {
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

  test('is its log messages, until it has ended [TASKS-15]', async () => {
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

  test('never names a task where there is none [TASKS-15]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    peer.send(request(1, 'tools/call', { name: 'curious', _meta: { progressToken: 1 } }));
    const question = await peer.request('elicitation/create');
    expect(JSON.stringify(question)).not.toContain(relatedKey);
    peer.answer(question, { action: 'cancel' });
    peer.refuse(await peer.request('sampling/createMessage'), { code: -1, message: 'No' });
    expect(JSON.stringify(await peer.response(1))).not.toContain(relatedKey);
  });

  test('a status that has changed, with the whole task and no metadata [TASKS-16] [TASKS-17]', async () => {
    const { peer } = await operate({ tools: [curious] }, { capabilities });
    const task = await begin(peer, 'curious');
    const told = await change(peer);
    expect(told).toEqual(await look(peer, task));
    expect(told).not.toHaveProperty('_meta');
  });
});
