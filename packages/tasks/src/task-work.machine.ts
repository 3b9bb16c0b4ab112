/**
 * The run of a resumable task in one process: whether it is busy, or only waits for a timer or an answer and may be
 * parked. The next process starts a new chart.
 *
 * The chart has no context and no actions: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type TaskWorkEvent =
  /** The handler only waits. */
  | { readonly type: 'work.rested' }
  /** A wait is over, or the handler does something besides waiting. */
  | { readonly type: 'work.stirred' }
  /** All waits are long: the parking is being stored. */
  | { readonly type: 'parking.begun' }
  | { readonly type: 'parking.written' }
  /** The session has ended: other processes resume from the stored steps. */
  | { readonly type: 'session.ended' }
  /** Another process has claimed or ended the task. */
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
      description: 'This process owns the task, and stores each step before the handler continues.',
      initial: 'running',
      states: {
        running: { tags: 'here', on: { 'work.rested': 'waiting' } },
        waiting: {
          description: "The task waits for a timer or for the client's answer.",
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
      description: 'The parking is being stored. Further steps of the handler are dropped.',
      on: { 'parking.written': 'parked', 'task.overtaken': 'overtaken', 'work.ended': 'ended' },
    },
    parked: {
      type: 'final',
      description: 'No process owns the task. The process that claims it resumes from its steps.',
      tags: 'over',
    },
    overtaken: { type: 'final', tags: 'over' },
    ended: { type: 'final', tags: 'over' },
  },
});

export type TaskWorkSnapshot = SnapshotFrom<typeof taskWorkMachine>;

export const taskWorkChart: PureChart<TaskWorkSnapshot, TaskWorkEvent> = pureChart(taskWorkMachine);
