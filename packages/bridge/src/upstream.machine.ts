/**
 * The lifecycle of one client's upstream.
 *
 * The chart has no context and no actions: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type UpstreamEvent =
  | { readonly type: 'upstream.opened' }
  /** Opening failed or timed out. */
  | { readonly type: 'upstream.failed' }
  /** The first request in flight has begun. */
  | { readonly type: 'requests.begun' }
  /** The last request in flight has settled. Sent only for shared upstreams and clients without a session. */
  | { readonly type: 'requests.settled' }
  /** The client has disconnected, or the idle timeout has passed. */
  | { readonly type: 'upstream.close' }
  /** All resources are released. */
  | { readonly type: 'upstream.closed' };

export const upstreamMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as UpstreamEvent },
}).createMachine({
  id: 'upstream',
  context: {},
  initial: 'opening',
  states: {
    opening: {
      description: 'The client and its queued requests wait for the upstream.',
      on: {
        'upstream.opened': 'used',
        'upstream.failed': 'closed',
        'upstream.close': 'closing',
      },
    },
    used: {
      description: 'Requests are in flight, or the client has a session.',
      on: { 'requests.settled': 'idle', 'upstream.close': 'closing' },
    },
    idle: {
      description:
        'No request is in flight. The upstream may be evicted, or closes after its idle timeout.',
      on: { 'requests.begun': 'used', 'upstream.close': 'closing' },
    },
    closing: {
      description: 'Resources are being released. No new requests are accepted.',
      on: { 'upstream.closed': 'closed' },
    },
    closed: { type: 'final', description: 'All resources are released.' },
  },
});

/** State of an upstream. Equal states share one snapshot. */
export type UpstreamSnapshot = SnapshotFrom<typeof upstreamMachine>;

export const upstreamChart: PureChart<UpstreamSnapshot, UpstreamEvent> = pureChart(upstreamMachine);
