/**
 * State of a forwarded request at the node that forwards it. A request is sent once; failures after
 * that are reported to the client.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type ForwardEvent =
  /** A short response starts: it is buffered and sent at once. */
  | { readonly type: 'answer.started' }
  /** A response starts that is relayed chunk by chunk. */
  | { readonly type: 'relay.started' }
  /** The connection broke, or the other node stopped responding. */
  | { readonly type: 'peer.failed' }
  /** The response is complete, or the client disconnected. */
  | { readonly type: 'request.ended' };

export const forwardMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ForwardEvent },
}).createMachine({
  id: 'forward',
  context: {},
  initial: 'waiting',
  on: { 'request.ended': '.ended', 'peer.failed': '.ended' },
  states: {
    waiting: {
      description: 'Connecting, or waiting for the response. A failure is answered with an error.',
      on: { 'answer.started': 'buffering', 'relay.started': 'relaying' },
    },
    buffering: {
      description: 'A short response is being received; nothing was sent to the client.',
    },
    relaying: {
      description:
        'The response is being relayed. A failure ends the stream or truncates the body.',
    },
    ended: { type: 'final' },
  },
});

/** State of a forwarded request. */
export type ForwardSnapshot = SnapshotFrom<typeof forwardMachine>;

export const forwardChart: PureChart<ForwardSnapshot, ForwardEvent> = pureChart(forwardMachine);
