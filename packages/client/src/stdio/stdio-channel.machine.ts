/**
 * A host's channel to a process that it has launched. The machine has no context, so the channel
 * needs no actor for it: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';

export type StdioChannelEvent =
  /** The process runs, and its pipes are there. */
  | { readonly type: 'process.launched' }
  /** One of its pipes has failed. */
  | { readonly type: 'pipe.failed' }
  /** The process has ended, or its pipe failed without a reason. */
  | { readonly type: 'channel.lost' }
  /** End the process. */
  | { readonly type: 'channel.close' }
  /** Nothing is left of the process. */
  | { readonly type: 'process.gone' }
  | { readonly type: 'channel.stopped' };

/** What a state means outside the machine. */
export type StdioChannelTag =
  /** The connection can use the channel. */
  'usable';

export const stdioChannelMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as StdioChannelEvent,
    tags: {} as StdioChannelTag,
  },
}).createMachine({
  id: 'stdio-channel',
  context: {},
  initial: 'starting',
  on: { 'channel.stopped': '.stopped' },
  states: {
    starting: {
      tags: 'usable',
      on: {
        'process.launched': 'open',
        'channel.lost': 'lost',
        'channel.close': 'closing',
        'process.gone': 'gone',
      },
    },
    open: {
      tags: 'usable',
      on: {
        'pipe.failed': 'ailing',
        'channel.lost': 'lost',
        'channel.close': 'closing',
        'process.gone': 'gone',
      },
    },
    ailing: {
      description: 'A pipe has failed. Nearly always the process has ended, and soon says why.',
      tags: 'usable',
      on: { 'channel.lost': 'lost', 'channel.close': 'closing', 'process.gone': 'gone' },
    },
    lost: {
      description: 'The connection knows. The process may still run.',
      on: { 'channel.close': 'closing', 'process.gone': 'gone' },
    },
    closing: { on: { 'process.gone': 'stopped' } },
    gone: {
      description:
        'Nothing is left of the process, and the connection has not closed the channel yet.',
      on: { 'channel.close': 'stopped' },
    },
    stopped: { type: 'final' },
  },
});

/** The state of a channel. Channels in the same state share one snapshot. */
export type StdioChannelSnapshot = SnapshotFrom<typeof stdioChannelMachine>;

export const stdioChannelChart = pureChart<StdioChannelSnapshot, StdioChannelEvent>(
  stdioChannelMachine,
);
