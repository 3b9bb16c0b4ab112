/**
 * Lifecycle of a transport with the official SDK's interface: started once; rejects messages before
 * its start and after its end.
 *
 * A pure chart without context and actions: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../machines/pure-chart.ts';
import type { PureChart } from '../machines/pure-chart.ts';

export type SdkTransportEvent =
  /** The client starts the transport. Launching its server may take a while. */
  | { readonly type: 'transport.start' }
  | { readonly type: 'transport.opened' }
  /** The server's output queue is full. */
  | { readonly type: 'output.blocked' }
  | { readonly type: 'output.flowing' }
  /** The transport ends its server. */
  | { readonly type: 'transport.end' }
  | { readonly type: 'transport.closed' };

export const sdkTransportMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as SdkTransportEvent },
}).createMachine({
  id: 'sdk-transport',
  context: {},
  initial: 'unstarted',
  on: { 'transport.closed': '.closed' },
  states: {
    unstarted: { on: { 'transport.start': 'starting' } },
    starting: {
      description: 'A process is launched.',
      on: { 'transport.opened': 'open', 'transport.end': 'ending' },
    },
    open: {
      initial: 'flowing',
      on: { 'transport.end': 'ending' },
      states: {
        flowing: { on: { 'output.blocked': 'blocked' } },
        blocked: {
          description: 'Too much waits for the server: requests are refused.',
          on: { 'output.flowing': 'flowing' },
        },
      },
    },
    ending: { description: 'Nothing is sent, and not all of the process has ended.' },
    closed: { type: 'final' },
  },
});

/** The state of a transport. Transports in the same state share one snapshot. */
export type SdkTransportSnapshot = SnapshotFrom<typeof sdkTransportMachine>;

export const sdkTransportChart: PureChart<SdkTransportSnapshot, SdkTransportEvent> =
  pureChart(sdkTransportMachine);
