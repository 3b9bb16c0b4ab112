/**
 * A request that one node forwards to another, as the first node sees it. A request is sent once: after that, a
 * failure is told to its client.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type ForwardEvent =
  /** A response begins whose body is short: it is answered at its end. */
  | { readonly type: 'answer.begun' }
  /** A response begins that is passed on as it comes. */
  | { readonly type: 'relay.begun' }
  /** The connection broke, or the other node has gone silent. */
  | { readonly type: 'peer.failed' }
  /** All has been said, or the client has left. */
  | { readonly type: 'request.ended' };

export const forwardMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ForwardEvent },
}).createMachine({
  id: 'forward',
  context: {},
  initial: 'waiting',
  on: { 'request.ended': '.over', 'peer.failed': '.over' },
  states: {
    waiting: {
      description:
        'The other node has it, or is being connected to. A failure is answered with an error.',
      on: { 'answer.begun': 'answering', 'relay.begun': 'relaying' },
    },
    answering: { description: 'Its answer comes, and its client has none of it yet.' },
    relaying: {
      description:
        'Its client has a part of the response. A failure ends the stream, or cuts the body off.',
    },
    over: { type: 'final' },
  },
});

/** The state of a forwarded request. */
export type ForwardSnapshot = SnapshotFrom<typeof forwardMachine>;

export const forwardChart: PureChart<ForwardSnapshot, ForwardEvent> = pureChart(forwardMachine);
