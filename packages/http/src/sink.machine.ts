/**
 * State of a response's connection: open, held back until other nodes know the stream, or draining
 * after the last message.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type SinkEvent =
  /** Nothing may be sent yet. */
  | { readonly type: 'output.hold' }
  /** The held output may be sent. */
  | { readonly type: 'output.release' }
  /** The last message was written. */
  | { readonly type: 'output.finish' }
  /** The client has read all output. */
  | { readonly type: 'output.drained' }
  /** The connection is closed; unsent output is dropped. */
  | { readonly type: 'connection.cut' };

export const sinkMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as SinkEvent },
}).createMachine({
  id: 'sink',
  context: {},
  initial: 'open',
  states: {
    open: {
      description: 'Output is sent at once.',
      on: { 'output.hold': 'holding', 'output.finish': 'ending', 'connection.cut': 'ended' },
    },
    holding: {
      description: 'Output is held back.',
      initial: 'writing',
      states: {
        writing: { on: { 'output.finish': 'complete', 'output.release': '#sink.open' } },
        complete: {
          description: 'The last message was written.',
          on: { 'output.release': '#sink.ending' },
        },
      },
      on: { 'connection.cut': 'ended' },
    },
    ending: {
      description: 'The last message was written; the client has not read all output.',
      on: { 'output.drained': 'ended', 'connection.cut': 'ended' },
    },
    ended: { type: 'final', description: 'All output was sent or dropped.' },
  },
});

/** State of a connection. Connections in the same state share one snapshot. */
export type SinkSnapshot = SnapshotFrom<typeof sinkMachine>;

export const sinkChart: PureChart<SinkSnapshot, SinkEvent> = pureChart(sinkMachine);
