/**
 * A child process and its process group, as seen by the actor that launches it. The process machine
 * decides when to close pipes and signal the group.
 *
 * The machine has no context and no actions: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type ChildChange =
  | { readonly type: 'child.started' }
  /** The child could not be started, or its actor was stopped. */
  | { readonly type: 'child.abandoned' }
  | { readonly type: 'child.ended' }
  /** The process group is empty. */
  | { readonly type: 'group.empty' };

export const childMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ChildChange },
}).createMachine({
  id: 'child',
  context: {},
  initial: 'resolving',
  on: { 'child.abandoned': '.abandoned' },
  states: {
    resolving: {
      description: 'The command is being located on disk.',
      on: { 'child.started': 'running' },
    },
    running: { on: { 'child.ended': 'exited' } },
    exited: {
      description: 'The child has exited. Other processes of its group may still run.',
      on: { 'group.empty': 'emptied' },
    },
    emptied: {
      description: 'The group id may be reused by now, so the group is no longer signalled.',
    },
    abandoned: {
      type: 'final',
      description: 'The child was never started, or its actor was stopped.',
    },
  },
});

/** State of a child. Children in the same state share one snapshot. */
export type ChildSnapshot = SnapshotFrom<typeof childMachine>;

export const childChart: PureChart<ChildSnapshot, ChildChange> = pureChart(childMachine);
