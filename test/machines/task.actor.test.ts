import { createActor } from 'xstate';
import { expect, onTestFinished, test } from 'vitest';
import { taskIn, taskMachine } from '../../packages/tasks/src/task.machine.ts';
import type { TaskEmitted, TaskEvent } from '../../packages/tasks/src/task.machine.ts';
import { TestClock } from 'mcp-actors/testing';
import { clientId } from '../actors/ids.ts';

function startTask(ttlMs = 1000) {
  const clock = new TestClock();
  const timeOfDay = () => new Date(clock.now()).toISOString();
  const input = { taskId: 't', ttlMs, pollIntervalMs: 100, timeOfDay };
  const actor = createActor(taskMachine, { input, clock });
  const told: string[] = [];
  const tell = (event: TaskEmitted) => {
    told.push(event.type === 'task.changed' ? event.task.status : 'expired');
  };
  actor.on('task.changed', tell);
  actor.on('task.expired', tell);
  actor.start();
  onTestFinished(() => void actor.stop());
  return { actor, clock, told };
}

const success: TaskEvent = {
  type: 'run.answered',
  response: { jsonrpc: '2.0', id: clientId(1), result: {} },
};

test.each([
  ['working', []],
  ['input_required', [{ type: 'input.requested', method: 'm' }]],
  ['completed', [success]],
  ['cancelled', [{ type: 'task.cancel', reason: 'r' }]],
] as const)('expires a task that is %s its ttl after its creation', (status, events) => {
  const { actor, clock, told } = startTask();
  clock.increment(400);
  for (const event of events) actor.send(event);
  expect(taskIn(actor.getSnapshot())?.status).toBe(status);
  clock.increment(599);
  expect(told).not.toContain('expired');
  clock.increment(1);
  expect(told.at(-1)).toBe('expired');
  expect(actor.getSnapshot().status).toBe('done');
  expect(clock.liveTimers).toBe(0);
});

test('reports each change once, in order, in agreement with its snapshot', () => {
  const { actor, told } = startTask();
  actor.on('task.changed', ({ task }) => expect(taskIn(actor.getSnapshot())).toEqual(task));
  actor.send({ type: 'input.requested', method: 'm' });
  actor.send({ type: 'input.requested', method: 'm' });
  actor.send({ type: 'task.describe', message: 'half' });
  actor.send({ type: 'input.received' });
  actor.send({ type: 'input.received' });
  actor.send(success);
  actor.send({ type: 'task.cancel', reason: 'too late' });
  expect(told).toEqual(['working', 'input_required', 'working', 'completed']);
});

test('leaves no timer when a task is stopped', () => {
  const { actor, clock } = startTask();
  actor.stop();
  expect(clock.liveTimers).toBe(0);
});
