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
  | { readonly type: 'output.end' }
  /** The client has taken all output. */
  | { readonly type: 'output.taken' }
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
      description: 'What is written is sent.',
      on: { 'output.hold': 'holding', 'output.end': 'ending', 'connection.cut': 'over' },
    },
    holding: {
      description: 'What is written waits.',
      initial: 'more',
      states: {
        more: { on: { 'output.end': 'all', 'output.release': '#sink.open' } },
        all: { description: 'All is said.', on: { 'output.release': '#sink.ending' } },
      },
      on: { 'connection.cut': 'over' },
    },
    ending: {
      description: 'All is said, and not all is taken.',
      on: { 'output.taken': 'over', 'connection.cut': 'over' },
    },
    over: { type: 'final', description: 'Nothing more is sent.' },
  },
});

/** State of a connection. Connections in the same state share one snapshot. */
export type SinkSnapshot = SnapshotFrom<typeof sinkMachine>;

export const sinkChart: PureChart<SinkSnapshot, SinkEvent> = pureChart(sinkMachine);
