/**
 * The closing of anything that takes a while to close: a session that calls its server's `onClose`,
 * an HTTP endpoint, a process that is told to end, a recording.
 *
 * It has no context and does nothing by itself, so nothing needs an actor for it: see {@link
 * pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../machines/pure-chart.ts';
import type { PureChart } from '../machines/pure-chart.ts';

export type ClosingEvent =
  /** It accepts nothing new. */
  | { readonly type: 'close.begin' }
  /** Nothing is left of it. */
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
      description: 'What it holds is ended. It takes nothing new.',
      on: { 'close.done': 'closed' },
    },
    closed: { type: 'final', description: 'Nothing is left of it.' },
  },
});

/** The state of the closing. Everything in the same state shares one snapshot. */
export type ClosingSnapshot = SnapshotFrom<typeof closingMachine>;

export const closingChart: PureChart<ClosingSnapshot, ClosingEvent> = pureChart(closingMachine);
