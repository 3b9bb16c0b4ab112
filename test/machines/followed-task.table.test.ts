import {
  SimulatedClock,
  createActor,
  fromPromise,
  initialTransition,
  transition,
  waitFor,
} from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  followedTaskMachine,
  openQuestions,
} from '../../packages/client/src/connection/followed-task.machine.ts';
import type {
  FollowedTaskContext,
  FollowedTaskInput,
} from '../../packages/client/src/connection/followed-task.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { ProtocolError, RuntimeError } from '../../src/protocol/errors.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import type { TaskReport } from '../../src/protocol/tasks.ts';
import { flush } from '../../packages/testing/src/index.ts';

const report = (status: TaskReport['status'], more: Partial<TaskReport> = {}): TaskReport => ({
  taskId: 't',
  status,
  ...more,
});
const asking = (...keys: readonly string[]): TaskReport =>
  report('input_required', { inputRequests: Object.fromEntries(keys.map((key) => [key, {}])) });

const done = (actor: string, output?: unknown) => ({ type: `xstate.done.actor.${actor}`, output });
const failed = (actor: string, error: Error) => ({ type: `xstate.error.actor.${actor}`, error });
const polled = { type: 'xstate.after.pollTimeout.followed.open.pausing' };
const looked = (task: TaskReport) => done('look', task);
const answered = (...keys: readonly string[]) => done('answer', { kind: 'answered', keys });
const lost = new RuntimeError('CLOSED', 'the connection was lost');

/** The machine after these events, starting with a working task. */
function after(events: readonly object[], input: Partial<FollowedTaskInput> = {}) {
  const given = { task: report('working'), era: 'modern', maxRounds: 2, ...input } as const;
  const [first] = initialTransition(followedTaskMachine, given);
  return events.reduce<typeof first>(
    (snapshot, event) => transition(followedTaskMachine, snapshot, event as never)[0],
    first,
  );
}

describe('the followed-task machine', () => {
  test.each([
    ['waits before it looks', [], 'open.pausing'],
    ['is looked at after a while', [polled], 'open.looking'],
    [
      'is looked at once more if it still works',
      [polled, looked(report('working'))],
      'open.pausing',
    ],
    [
      'is looked at at once when its changes are told from now on',
      [{ type: 'task.listened' }],
      'open.looking',
    ],
    [
      'is asked for its result when it has ended',
      [polled, looked(report('failed'))],
      'open.collecting',
    ],
    [
      'is asked for its result when that is told',
      [{ type: 'task.told', task: report('completed') }],
      'open.collecting',
    ],
    ['is answered if it asks', [polled, looked(asking('a'))], 'open.answering'],
    ['is looked at after an answer', [polled, looked(asking('a')), answered('a')], 'open.looking'],
    [
      'is not answered twice',
      [polled, looked(asking('a')), answered('a'), looked(asking('a'))],
      'open.pausing',
    ],
    [
      'is answered if it asks something else besides',
      [polled, looked(asking('a')), answered('a'), looked(asking('a', 'b'))],
      'open.answering',
    ],
    [
      'is over if the server does not know it',
      [polled, failed('look', new ProtocolError(-32602, 'no'))],
      'ended',
    ],
    ['is looked at again after a loss', [polled, failed('look', lost)], 'open.pausing'],
    [
      'is asked for its result again after a loss',
      [polled, looked(report('completed')), failed('collect', lost)],
      'open.pausing',
    ],
    [
      'is cancelled if it cannot be answered',
      [polled, looked(asking('a')), failed('answer', new RuntimeError('REQUEST_FAILED', 'no'))],
      'cancelling',
    ],
    ['is cancelled if the host wants that', [{ type: 'task.abandon', error: lost }], 'cancelling'],
  ] as const)('%s', (_name, events, state) => {
    expect(stateName(after(events))).toBe(state);
  });

  test('has its outcome before the server has processed the cancellation [FOLLOW-04]', () => {
    const { context } = after([{ type: 'task.abandon', error: lost }]);
    expect(context.outcome).toEqual({ ok: false, error: lost });
  });

  test.each([
    [200, 200],
    // Longer than the host's own polling interval.
    [300_000, 300_000],
  ])(
    'polls every %i ms if the server says so, until the task ends, without notifications [FOLLOW-02]',
    async (pollIntervalMs, everyMs) => {
      const clock = new SimulatedClock();
      const statuses = ['working', 'working', 'completed'] as const;
      let looks = 0;
      const actor = createActor(
        followedTaskMachine.provide({
          actors: {
            look: fromPromise(async () =>
              report(statuses[looks++] ?? 'failed', { pollIntervalMs }),
            ),
            collect: fromPromise<JsonObject, FollowedTaskContext>(async () => ({ done: true })),
          },
        }),
        {
          clock,
          input: { task: report('working', { pollIntervalMs }), era: 'legacy', maxRounds: 1 },
        },
      ).start();
      for (const look of [1, 2, 3]) {
        clock.increment(everyMs - 1);
        expect(looks).toBe(look - 1);
        clock.increment(1);
        expect(looks).toBe(look);
        await flush();
      }
      await waitFor(actor, ({ status }) => status === 'done');
      expect(actor.getSnapshot().context.outcome).toEqual({ ok: true, result: { done: true } });
      expect(looks).toBe(3);
    },
  );

  test('limits the number of input requests', () => {
    const round = (key: string) => [looked(asking(key)), answered(key)];
    const { context, ...rest } = after([polled, ...round('a'), ...round('b'), looked(asking('c'))]);
    expect(rest.value).toBe('cancelling');
    expect(context.outcome).toMatchObject({ error: { code: 'PROTOCOL_VIOLATION' } });
  });

  test('keeps input requests pending that arrive while the host answers', () => {
    const told = { type: 'task.told', task: asking('a', 'b') };
    const { context } = after([polled, looked(asking('a')), told, answered('a')]);
    expect(Object.keys(openQuestions(context))).toEqual(['b']);
  });

  test('gives up after ten polls in a row without an answer, with increasing delays', () => {
    const loss = [polled, failed('look', lost)];
    const often = after(Array.from({ length: 10 }, () => loss).flat());
    expect(stateName(often)).toBe('open.pausing');
    expect(stateName(after(loss.slice(), { task: report('working') }))).toBe('open.pausing');
    const over = after(Array.from({ length: 11 }, () => loss).flat());
    expect([over.value, over.context.outcome]).toEqual(['ended', { ok: false, error: lost }]);
  });

  test('fetches the result of a 2025-11-25 task that requires input, which delivers the requests [FOLLOW-03]', () => {
    const legacy = { era: 'legacy', task: report('input_required') } as const;
    expect(stateName(after([], legacy))).toBe('open.answering');
    const ended = after([done('answer', { kind: 'result', result: { a: 1 } })], legacy);
    expect(ended.context.outcome).toEqual({ ok: true, result: { a: 1 } });
  });

  test('reports a task cancelled by the server', () => {
    const { context } = after([polled, looked(report('cancelled', { statusMessage: 'too old' }))]);
    expect(context.outcome).toMatchObject({
      error: { code: 'REMOTE_CANCELLED', message: 'The server cancelled the task t: too old' },
    });
  });
});
