import { createActor } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Call } from '../../src/actors/router/call.ts';
import { TaskRun } from '../../src/actors/router/task-run.ts';
import { taskIn, taskMachine } from '../../packages/tasks/src/task.machine.ts';
import { RuntimeError } from '../../src/protocol/errors.ts';
import type { OutboundResponse, RelatedRequest } from '../../src/protocol/frames.ts';
import { startCorrelation } from './peer-requests.ts';
import { settled } from './fakes.ts';
import { clientId } from './ids.ts';

const spec = { method: 'elicitation/create', timeoutMs: 1000, maxTotalMs: 1000 };
const meta = { 'io.modelcontextprotocol/related-task': { taskId: 't' } };

/** A task's run, started by request 1. */
function startRun(relatedRequest: () => RelatedRequest | undefined = () => undefined) {
  const all = startCorrelation();
  all.open();
  const actor = createActor(taskMachine, {
    input: { taskId: 't', ttlMs: 60_000, pollIntervalMs: 1, timeOfDay: () => '' },
  });
  actor.start();
  onTestFinished(() => void actor.stop());
  const scope = {
    roots: () => undefined,
    isWritable: () => true,
    whenWritable: (callback: () => void) => callback(),
    isClosing: () => false,
    writer: all.writer.ref,
    correlation: all.ref,
    detach: () => () => {},
    drop: () => {},
    park: () => {},
    resume: () => {},
  };
  const replies = { add: () => {}, drop: () => {} };
  const params = { name: 'tool', task: {} };
  const call = new Call(
    { id: clientId(1), method: 'tools/call', params },
    () => ({}),
    scope,
    { peer: {} as never },
    replies,
  );
  const responses: OutboundResponse[] = [];
  const answered = (response: OutboundResponse) => void responses.push(response);
  const run = new TaskRun(call, () => ({}), {
    taskId: 't',
    onResponse: answered,
    relatedRequest,
    onStatusMessage: (message) => actor.send({ type: 'task.describe', message }),
    onInputRequested: (method) => actor.send({ type: 'input.requested', method }),
    onInputReceived: () => actor.send({ type: 'input.received' }),

    polled: {
      ask: () => Promise.reject(new Error('it is sent its questions')),
      end: () => {},
      roots: () => Promise.reject(new Error('it is sent its questions')),
      openQuestions: 0,
    },
  });
  run.state = 'running';
  const status = () => taskIn(actor.getSnapshot())?.status;
  const sends = () =>
    all.writer.events.map((event) => (event.type === 'frames.send' ? event : undefined));
  return { ...all, actor, call, run, responses, status, sends };
}

describe("a task's run", () => {
  test('copies the call that started it, and ends separately', () => {
    const { call, run } = startRun();
    expect([run.id, run.method, run.params]).toEqual([call.id, call.method, call.params]);
    const { signal } = run;
    call.end();
    expect([run.state, signal.aborted]).toEqual(['running', false]);
    run.abort(new RuntimeError('CANCELLED', 'enough'));
    expect(signal.aborted).toBe(true);
  });

  test('sends its response to the task', () => {
    const { run, responses } = startRun();
    const response = { jsonrpc: '2.0', id: clientId(1), result: {} } as const;
    run.replies.add(response, run);
    run.replies.drop(run);
    expect(responses).toEqual([response]);
  });

  test.each([undefined, 7])(
    'sends on the stream of the waiting request, not of its own ended one: %j',
    async (waiter) => {
      const { run, sends } = startRun(() =>
        waiter === undefined ? undefined : { id: clientId(waiter) },
      );
      run.notify('notifications/message', { level: 'info', _meta: { 'x/y': 1 } });
      void run.sendRequest(spec);
      await settled();
      const whose = waiter === undefined ? undefined : { id: waiter };
      expect(sends()).toMatchObject([
        {
          relatedTo: whose,
          frames: [{ params: { level: 'info', _meta: { 'x/y': 1, ...meta } } }],
        },
        { relatedTo: whose, frames: [{ method: spec.method, params: { _meta: meta } }] },
      ]);
    },
  );

  test('marks the task input_required while a request is pending', async () => {
    const { run, status, frames, answer } = startRun();
    const answered = run.sendRequest(spec);
    await settled();
    expect(status()).toBe('input_required');
    const [frame] = frames();
    answer(frame && 'id' in frame ? frame.id : undefined, { action: 'accept' });
    await expect(answered).resolves.toEqual({ action: 'accept' });
    expect(status()).toBe('working');
  });

  test('sends no request and changes no status after its end, or with an aborted signal', async () => {
    const { run, status, frames } = startRun();
    await expect(run.sendRequest({ ...spec, signal: AbortSignal.abort() })).rejects.toThrow();
    run.end();
    await expect(run.sendRequest(spec)).rejects.toMatchObject({ code: 'CANCELLED' });
    run.task?.describe('too late');
    expect([status(), frames()]).toEqual(['working', []]);
  });

  test('does not update a task that ended before its requests were withdrawn', async () => {
    const { run, actor, status } = startRun();
    const asked = run.sendRequest(spec);
    actor.send({ type: 'task.cancel', reason: 'enough' });
    run.abort(new RuntimeError('CANCELLED', 'enough'));
    await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
    await settled();
    expect(status()).toBe('cancelled');
  });
});
