/**
 * Lifecycle of anything that closes asynchronously: a session that awaits `onClose`, an HTTP endpoint, a
 * terminating process, a recording.
 *
 * The machine has no context and no actions, so it needs no actor: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../machines/pure-chart.ts';
import type { PureChart } from '../machines/pure-chart.ts';

export type ClosingEvent =
  /** Stop accepting work. */
  | { readonly type: 'close.begin' }
  /** All resources are released. */
  | { readonly type: 'close.done' };

export const closingMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ClosingEvent },
}).createMachine({
  id: 'closing',
  context: {},
  initial: 'open',
  states: {
    open: { on: { 'close.begin': 'closing', 'close.done': 'closed' } },
    closing: {
      description: 'Resources are being released; new work is rejected.',
      on: { 'close.done': 'closed' },
    },
    closed: { type: 'final', description: 'All resources are released.' },
  },
});

/** Closing state, shared by everything in the same state. */
export type ClosingSnapshot = SnapshotFrom<typeof closingMachine>;

export const closingChart: PureChart<ClosingSnapshot, ClosingEvent> = pureChart(closingMachine);
