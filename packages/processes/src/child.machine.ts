/**
 * A child process and the group that it leads, as seen by the actor that launches it. The process
 * machine decides when its pipes are closed and its group is signalled.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type ChildChange =
  | { readonly type: 'child.started' }
  /** It could not be started, or its actor was stopped. */
  | { readonly type: 'child.abandoned' }
  | { readonly type: 'child.ended' }
  /** Nothing is left of its group. */
  | { readonly type: 'group.empty' };

export const childMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ChildChange },
}).createMachine({
  id: 'child',
  context: {},
  initial: 'looking',
  on: { 'child.abandoned': '.over' },
  states: {
    looking: {
      description: 'Its command is looked for on the disk.',
      on: { 'child.started': 'running' },
    },
    running: { on: { 'child.ended': 'exited' } },
    exited: {
      description: 'It has ended. Some that it has started may still run in its group.',
      on: { 'group.empty': 'emptied' },
    },
    emptied: {
      description: 'The number of its group may be that of another one: it is not signalled.',
    },
    over: { type: 'final', description: 'It was never started, or its actor was stopped.' },
  },
});

/** The state of a child. Children in the same state share one snapshot. */
export type ChildSnapshot = SnapshotFrom<typeof childMachine>;

export const childChart: PureChart<ChildSnapshot, ChildChange> = pureChart(childMachine);
