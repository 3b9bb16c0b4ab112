/** Ordinary calls of durable tools, over a store in memory and a clock that the tests move. */
import { defineTool } from 'mcp-actors';
import type { HandlerContext, JsonObject } from 'mcp-actors';
import { enveloped, gate } from 'mcp-actors/testing';
import type { Gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { setup } from 'xstate';
import { callKey, questionKey } from '../../../src/protocol/durable-calls.ts';
import { StoredTasks } from '../../serve/src/stored-tasks.ts';
import { World, charging, settled } from './task-world.ts';

const one = '11111111-1111-4111-8111-111111111111';
const three = '33333333-3333-4333-8333-333333333333';
const two = '22222222-2222-4222-8222-222222222222';

const textIn = (response: unknown) =>
  (response as { result?: { content?: readonly { text?: string }[] } }).result?.content?.[0]?.text;

const errorIn = (response: unknown) =>
  (response as { error?: { code: number; message: string; data?: JsonObject } }).error;

/** A durable tool of this handler. */
const durable = (handler: (args: JsonObject, context: HandlerContext) => unknown) =>
  defineTool({
    name: 'work',
    description: 'Works',
    durable: true,
    inputSchema: { type: 'object' },
    handler: handler as never,
  });

describe('a durable call', () => {
  test('continues in the next process without repeating recorded steps', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.supervise([tool]);
    void first.call(one, 'charge').catch(() => {});
    await settled();
    expect(charges).toEqual(['charged']);
    await world.kill(first);
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'charge', { isResent: true });
    await settled();
    door.release();
    expect(textIn(await answer)).toBe('charge 1');
    expect(charges).toEqual(['charged']);
    expect(second.facts).toContain('task.resumed');
    expect(second.peer.violations).toEqual([]);
  });

  test('runs if the previous process had not recorded it', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.supervise([tool]);
    first.store.fault = (method) => (method === 'create' ? new Promise(() => {}) : undefined);
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await world.kill(first);
    expect(charges).toEqual([]);
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'charge', { isResent: true });
    door.release();
    expect(textIn(await answer)).toBe('charge 1');
  });

  test('returns its recorded result to a host that missed it, without running again', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    door.release();
    const first = await world.supervise([tool]);
    expect(textIn(await first.call(one, 'charge'))).toBe('charge 1');
    await world.kill(first);
    const second = await world.supervise([tool]);
    expect(textIn(await second.call(one, 'charge', { isResent: true }))).toBe('charge 1');
    expect(charges).toEqual(['charged']);
  });

  test('keeps the error it failed with', async () => {
    const world = new World();
    const tool = durable(() => {
      throw new Error('out of stock');
    });
    const first = await world.supervise([tool]);
    const failed = (await first.call(one, 'work')) as { result: JsonObject };
    expect(failed.result['isError']).toBe(true);
    await world.kill(first);
    const second = await world.supervise([tool]);
    const again = (await second.call(one, 'work', { isResent: true })) as { result: JsonObject };
    expect(again.result).toEqual(failed.result);
  });

  test('is bound to its original tool and arguments', async () => {
    const world = new World();
    const door = gate();
    const tool = durable(async () => {
      await door.pass();
      return 'done';
    });
    const first = await world.supervise([tool]);
    void first.call(one, 'work', { args: { item: 'bread' } }).catch(() => {});
    await settled();
    await world.kill(first);
    const second = await world.supervise([tool]);
    const answer = await second.call(one, 'work', { isResent: true, args: { item: 'wine' } });
    expect(errorIn(answer)?.code).toBe(-32602);
    door.release();
  });

  test('stays cancelled once its host cancels it', async () => {
    const world = new World();
    const signals: AbortSignal[] = [];
    const tool = durable(async (_, { signal }) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const first = await world.supervise([tool]);
    void first.call(one, 'work', { id: 7 }).catch(() => {});
    await settled();
    first.peer.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 7, reason: 'enough' },
    });
    await settled();
    expect(signals[0]?.aborted).toBe(true);
    await world.kill(first);
    const second = await world.supervise([tool]);
    const answer = await second.call(one, 'work', { isResent: true });
    expect(errorIn(answer)?.data).toEqual({ reason: 'cancelled', retryable: false });
    expect(signals).toHaveLength(1);
  });

  test('is cancelled if its host does not return, and does not run meanwhile', async () => {
    const world = new World();
    const { charges, tool } = charging();
    const first = await world.supervise([tool]);
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await world.kill(first);
    const second = await world.supervise([tool], { limits: { abandonedMs: 60_000 } });
    await world.pass(59_000);
    const stored = new StoredTasks(second.store);
    const [waiting] = await stored.list({ max: 10 });
    expect(waiting).toMatchObject({ status: 'working', kind: 'call', tool: 'charge' });
    await world.pass(2000);
    const [ended] = await stored.list({ max: 10 });
    expect(ended?.status).toBe('cancelled');
    expect(second.facts).toContain('call.abandoned');
    expect(charges).toEqual(['charged']);
    const answer = await second.call(one, 'charge', { isResent: true });
    expect(errorIn(answer)?.data).toEqual({ reason: 'cancelled', retryable: false });
  });

  test('is resumed by the process its host returns to, whichever polled first', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.supervise([tool]);
    const other = await world.supervise([tool]);
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await world.kill(first);
    await world.pass(3000);
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'charge', { isResent: true });
    await settled();
    door.release();
    expect(textIn(await answer)).toBe('charge 1');
    expect(charges).toEqual(['charged']);
    expect(other.facts).not.toContain('task.resumed');
  });

  test('fails when its process exceeds the restart limit', async () => {
    const world = new World();
    const { charges, tool } = charging();
    let process = await world.supervise([tool], { limits: { maxRestarts: 1 } });
    void process.call(one, 'charge').catch(() => {});
    await settled();
    for (let restarts = 1; restarts <= 2; restarts++) {
      await world.kill(process);
      process = await world.supervise([tool], { limits: { maxRestarts: 1 } });
      const answer = process.call(one, 'charge', { isResent: true });
      if (restarts === 2) expect(errorIn(await answer)?.data?.['reason']).toBe('process-ended');
      else void answer.catch(() => {});
      await settled();
    }
    expect(charges).toEqual(['charged']);
  });

  test('answers two requests with the same call id identically', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.supervise([tool]);
    const answers = [
      first.call(one, 'charge', { id: 1 }),
      first.call(one, 'charge', { id: 2, isResent: true }),
    ];
    await settled();
    door.release();
    expect((await Promise.all(answers)).map(textIn)).toEqual(['charge 1', 'charge 1']);
    expect(charges).toEqual(['charged']);
  });

  test('cannot be listed or found as a task', async () => {
    const world = new World();
    const { door, tool } = charging();
    const first = await world.supervise([tool]);
    const answer = first.call(one, 'charge');
    await settled();
    first.peer.send({ jsonrpc: '2.0', id: 'l', method: 'tasks/list' });
    expect(await first.peer.response('l')).toMatchObject({ result: { tasks: [] } });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result']) {
      first.peer.send({ jsonrpc: '2.0', id: method, method, params: { taskId: `call.${one}` } });
      expect(errorIn(await first.peer.response(method))?.code, method).toBe(-32602);
    }
    door.release();
    await answer;
  });

  test('frees its quota once it has ended', async () => {
    const world = new World();
    const tool = durable(() => 'done');
    const { call } = await world.supervise([tool], { limits: { maxKeptTasks: 2 } });
    for (let nth = 0; nth < 5; nth++) {
      const id = one.replace('1', String(nth));
      expect(textIn(await call(id, 'work'))).toBe('done');
    }
  });

  test('appears in a dump with its restarts, and does not count as a running task', async () => {
    const world = new World();
    const { door, tool } = charging();
    const first = await world.supervise([tool]);
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await world.kill(first);
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'charge', { isResent: true });
    await settled();
    const { tasks, queues } = second.session.dump();
    expect(tasks).toMatchObject([{ isCall: true, restarts: 1, lastStep: 'once:charge' }]);
    expect(queues.tasks.count).toBe(0);
    door.release();
    await answer;
    expect(second.session.dump().tasks).toEqual([]);
  });

  test('is listed as a tool with optional tasks', async () => {
    const world = new World();
    const { tool } = charging();
    const { peer } = await world.supervise([tool]);
    peer.send({ jsonrpc: '2.0', id: 'l', method: 'tools/list' });
    const { result } = (await peer.response('l')) as { result: JsonObject };
    expect(result['tools']).toMatchObject([{ execution: { taskSupport: 'optional' } }]);
  });

  test('is not repeated after a restart if its tool is not durable', async () => {
    const world = new World();
    let runs = 0;
    const tool = defineTool({
      name: 'plain',
      description: 'Runs',
      handler: () => `run ${++runs}`,
    });
    const { call } = await world.supervise([tool, durable(() => '')]);
    expect(textIn(await call(one, 'plain'))).toBe('run 1');
    const error = errorIn(await call(two, 'plain', { isResent: true }));
    expect(error?.data).toEqual({ reason: 'process-ended', retryable: true });
    expect(runs).toBe(1);
  });
});

describe('a durable call whose host cannot return', () => {
  test('ends with its session', async () => {
    const world = new World();
    const { tool } = charging();
    const first = await world.supervise([tool], { isSupervised: false });
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await first.end();
    await settled();
    const [ended] = await new StoredTasks(first.store).list({ max: 10 });
    expect(ended?.status).toBe('cancelled');
  });

  test('fails in the next process after a kill', async () => {
    const world = new World();
    const { tool } = charging();
    const first = await world.supervise([tool], { isSupervised: false });
    void first.call(one, 'charge').catch(() => {});
    await settled();
    await world.kill(first);
    const second = await world.start([tool]);
    await settled();
    const [ended] = await new StoredTasks(second.store).list({ max: 10 });
    expect(ended?.status).toBe('failed');
  });
});

describe('progress of a durable call', () => {
  const counting = (doors: ReadonlyMap<number, Gate>) =>
    durable(async (_, { progress, once }) => {
      for (let step = 1; step <= 4; step++) {
        await once(`step ${step}`, () => step);
        progress(step, { total: 4, message: `step ${step}` });
        await doors.get(step)?.pass();
      }
      return 'done';
    });

  const progressOf = ({ peer }: { readonly peer: { readonly received: readonly unknown[] } }) =>
    (peer.received as readonly JsonObject[])
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params as JsonObject);

  test('never decreases, and names the step at which the call resumed', async () => {
    const world = new World();
    const [beforeKill, afterKill] = [gate(), gate()];
    const doors = new Map([[2, beforeKill]]);
    const tool = counting(doors);
    const meta = { progressToken: 'p' };
    const first = await world.supervise([tool]);
    void first.call(one, 'work', { meta }).catch(() => {});
    await world.pass(200);
    await world.pass(200);
    expect(progressOf(first).map(({ progress }) => progress)).toEqual([1, 2]);
    await world.kill(first);
    doors.delete(2);
    doors.set(3, afterKill);
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'work', { meta, isResent: true });
    await world.pass(200);
    afterKill.release();
    await world.pass(200);
    expect(textIn(await answer)).toBe('done');
    const seen = progressOf(second);
    expect(seen.map(({ progress }) => progress)).toEqual([3, 4]);
    expect(seen[0]?.['message']).toBe('Resumed at step 2 of 4: step 3');
    expect(seen[1]?.['message']).toBe('step 4');
    const received = second.peer.received as readonly JsonObject[];
    const last = received.findIndex(({ params }) => params === seen[1]);
    expect(received.findIndex(({ id }) => id === one)).toBeGreaterThan(last);
  });
});

describe('questions of a durable call', () => {
  const asking = () => {
    const seen: unknown[] = [];
    const form = (name: string) => ({
      message: name,
      schema: { type: 'object', properties: { [name]: { type: 'string' } } } as const,
    });
    const tool = durable(async (_, { elicit }) => {
      for (const name of ['size', 'colour']) seen.push((await elicit(form(name))).action);
      return 'ordered';
    });
    return { tool, seen };
  };
  const elicitation = { elicitation: { form: {} } };

  test('are asked again by the next process under the same key, and answers are kept', async () => {
    const world = new World();
    const { tool, seen } = asking();
    const first = await world.supervise([tool], { capabilities: elicitation });
    void first.call(one, 'work').catch(() => {});
    const size = await first.peer.request('elicitation/create');
    expect(size.params?.['_meta']).toEqual({ [questionKey]: `${one}/q1` });
    first.peer.answer(size, { action: 'accept', content: { size: 'x' } });
    const before = await first.peer.request('elicitation/create');
    expect(before.params?.['message']).toBe('colour');
    await settled();
    await world.kill(first);
    const second = await world.supervise([tool], { capabilities: elicitation });
    const answer = second.call(one, 'work', { isResent: true });
    const again = await second.peer.request('elicitation/create');
    expect(again.params).toEqual(before.params);
    second.peer.answer(again, { action: 'decline' });
    expect(textIn(await answer)).toBe('ordered');
    expect(seen).toEqual(['accept', 'accept', 'decline']);
    expect(second.peer.count('elicitation/create')).toBe(1);
  });

  test('time out without an answer, as for any call', async () => {
    const world = new World();
    const tool = durable(async (_, { elicit }) => {
      const asked = elicit({
        message: 'Size?',
        schema: { type: 'object', properties: { size: { type: 'string' } } },
      });
      return asked.then(
        () => 'answered',
        (error: unknown) => (error as { code: string }).code,
      );
    });
    const options = { capabilities: elicitation, limits: { humanTimeoutMs: 1000 } };
    const { call, peer } = await world.supervise([tool], options);
    const answer = call(one, 'work');
    await peer.request('elicitation/create');
    await world.pass(1000);
    await settled();
    expect(textIn(await answer)).toBe('REQUEST_TIMEOUT');
  });
});

describe('at the end of a session', () => {
  test('leaves a waiting durable call unanswered, to continue in another process', async () => {
    const world = new World();
    const { charges, door, tool } = charging();
    const first = await world.supervise([tool]);
    const lost = first.call(one, 'charge');
    await settled();
    await first.end();
    await expect(lost).rejects.toThrow('has ended');
    const second = await world.supervise([tool]);
    const answer = second.call(one, 'charge', { isResent: true });
    await settled();
    door.release();
    expect(textIn(await answer)).toBe('charge 1');
    expect(charges).toEqual(['charged']);
  });
});

test('a machine tool resumes its call in the stored state', async () => {
  const world = new World();
  const tool = defineTool({
    name: 'nap',
    description: 'Naps',
    machine: setup({ types: { output: {} as string } }).createMachine({
      id: 'nap',
      initial: 'asleep',
      states: { asleep: { after: { 60_000: 'awake' } }, awake: { type: 'final' } },
      output: 'awake',
    }),
  });
  const first = await world.supervise([tool]);
  void first.call(one, 'nap').catch(() => {});
  await world.pass(30_000);
  await world.kill(first);
  const second = await world.supervise([tool]);
  const answer = second.call(one, 'nap', { isResent: true });
  await settled();
  await world.pass(30_000);
  expect(textIn(await answer)).toBe('awake');
});

describe('a durable call of 2026-07-28', () => {
  const elicitation = { elicitation: { form: {} } };
  const form = { type: 'object', properties: { size: { type: 'string' } } } as const;

  /** Sends a call, or a retry of one, as the supervisor does. */
  const send = (
    { peer }: Awaited<ReturnType<World['start']>>,
    callId: string,
    params: JsonObject,
  ) => {
    const marked = { ...params, _meta: { [callKey]: callId } };
    peer.send(enveloped(callId, 'tools/call', marked, { capabilities: elicitation }));
    return peer.response(callId) as Promise<{ readonly result: JsonObject }>;
  };
  const supervised = { supervised: true };

  test('asks with input_required, and continues in the next process with the answer', async () => {
    const world = new World();
    let runs = 0;
    const tool = durable(async (_, { elicit, once }) => {
      runs++;
      const order = await once('order', () => 'order 1');
      const { action } = await elicit({ message: 'Size?', schema: form });
      return `${order}: ${action}`;
    });
    const first = await world.start([tool], {}, undefined, undefined, supervised);
    const { result } = await send(first, one, { name: 'work' });
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { q1: { method: 'elicitation/create' } },
    });
    const { requestState } = result;
    await settled();
    await world.kill(first);
    const second = await world.start([tool], {}, undefined, undefined, supervised);
    const inputResponses = { q1: { action: 'accept', content: { size: 'x' } } };
    const answer = await send(second, two, { name: 'work', requestState, inputResponses });
    expect(textIn(answer)).toBe('order 1: accept');
    expect(runs).toBe(2);
    expect([first, second].flatMap(({ peer }) => peer.violations)).toEqual([]);
  });

  test('rejects a malformed answer, and continues with a valid one', async () => {
    const world = new World();
    const tool = durable(async (_, { elicit }) => {
      const { action } = await elicit({ message: 'Size?', schema: form });
      return action;
    });
    const process = await world.start([tool], {}, undefined, undefined, supervised);
    const { result } = await send(process, one, { name: 'work' });
    const { requestState } = result;
    const bad = { name: 'work', requestState, inputResponses: { q1: { action: 'perhaps' } } };
    expect(errorIn(await send(process, two, bad))?.code).toBe(-32602);
    const good = { name: 'work', requestState, inputResponses: { q1: { action: 'decline' } } };
    expect(textIn(await send(process, three, good))).toBe('decline');
  });

  test('rejects a requestState it never issued', async () => {
    const world = new World();
    const tool = durable(() => 'done');
    const process = await world.start([tool]);
    for (const requestState of ['x', `call.${one}~1`, `${one}~1`]) {
      process.peer.send(enveloped(requestState, 'tools/call', { name: 'work', requestState }));
      expect(errorIn(await process.peer.response(requestState))?.code).toBe(-32602);
    }
  });

  test('becomes a task if its client supports tasks', async () => {
    const world = new World();
    const { door, tool } = charging();
    const process = await world.start([tool]);
    const task = await process.begin('charge');
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    door.release();
    await process.sees(task, 'completed');
  });
});
