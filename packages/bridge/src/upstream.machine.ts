/**
 * The upstream of one client of a server, from its opening to its end.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type UpstreamEvent =
  | { readonly type: 'upstream.opened' }
  /** It could not be opened, or not in time. */
  | { readonly type: 'upstream.failed' }
  /** The first request of several is to be answered. */
  | { readonly type: 'requests.begun' }
  /** No request is left. It is told only of clients that share it, or have no session. */
  | { readonly type: 'requests.settled' }
  /** Its client has gone, or nothing was asked of it for long. */
  | { readonly type: 'upstream.close' }
  /** Nothing is left of it. */
  | { readonly type: 'upstream.closed' };

export const upstreamMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as UpstreamEvent },
}).createMachine({
  id: 'upstream',
  context: {},
  initial: 'opening',
  states: {
    opening: {
      description: 'Its client waits for it, and so do the requests that come meanwhile.',
      on: {
        'upstream.opened': 'used',
        'upstream.failed': 'closed',
        'upstream.close': 'closing',
      },
    },
    used: {
      description: 'It answers requests, or its client has a session: it is kept.',
      on: { 'requests.settled': 'idle', 'upstream.close': 'closing' },
    },
    idle: {
      description: 'Nothing is asked of it. It makes room for another, or ends after its time.',
      on: { 'requests.begun': 'used', 'upstream.close': 'closing' },
    },
    closing: {
      description: 'What it holds is ended. It takes nothing new.',
      on: { 'upstream.closed': 'closed' },
    },
    closed: { type: 'final', description: 'Nothing is left of it.' },
  },
});

/** The state of an upstream. All in the same state share one snapshot. */
export type UpstreamSnapshot = SnapshotFrom<typeof upstreamMachine>;

export const upstreamChart: PureChart<UpstreamSnapshot, UpstreamEvent> = pureChart(upstreamMachine);
