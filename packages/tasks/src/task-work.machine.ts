/**
 * The work of a task that can go on in another process, where it runs: whether it does something, or only waits for
 * a timer or an answer, and may be given up until then. The next process begins with a chart of its own.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type TaskWorkEvent =
  /** Everything that it does is to wait. */
  | { readonly type: 'work.rested' }
  /** Something that it waited for has come, or it does something beside that. */
  | { readonly type: 'work.stirred' }
  /** Nothing that it waits for comes soon: that it is given up is being written. */
  | { readonly type: 'parking.begun' }
  | { readonly type: 'parking.written' }
  /** Its session has ended: whatever it does, others go on from what is written. */
  | { readonly type: 'session.ended' }
  /** Somebody else has claimed or ended the task. */
  | { readonly type: 'task.overtaken' }
  | { readonly type: 'work.ended' };

export const taskWorkMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as TaskWorkEvent,
    tags: {} as 'here' | 'over',
  },
}).createMachine({
  id: 'task-work',
  context: {},
  initial: 'owned',
  states: {
    owned: {
      description: 'This process has the task: it writes each step down before it goes on.',
      initial: 'running',
      states: {
        running: { tags: 'here', on: { 'work.rested': 'waiting' } },
        waiting: {
          description: 'For a timer, or for an answer of the client.',
          tags: 'here',
          on: { 'work.stirred': 'running', 'parking.begun': '#task-work.parking' },
        },
      },
      on: {
        'session.ended': 'parking',
        'task.overtaken': 'overtaken',
        'work.ended': 'ended',
      },
    },
    parking: {
      description: 'Nobody hears of what its handler still does.',
      on: { 'parking.written': 'parked', 'task.overtaken': 'overtaken', 'work.ended': 'ended' },
    },
    parked: {
      type: 'final',
      description: 'Nobody has it. Who claims it when it is due goes on from what is written.',
      tags: 'over',
    },
    overtaken: { type: 'final', tags: 'over' },
    ended: { type: 'final', tags: 'over' },
  },
});

/** Where the work of a task stands. */
export type TaskWorkSnapshot = SnapshotFrom<typeof taskWorkMachine>;

export const taskWorkChart: PureChart<TaskWorkSnapshot, TaskWorkEvent> = pureChart(taskWorkMachine);
