/**
 * State of a channel to a launched process. The machine has no context, so the channel needs no
 * actor for it: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';

export type StdioChannelEvent =
  /** The process is running, with its pipes. */
  | { readonly type: 'process.launched' }
  /** One of its pipes failed. */
  | { readonly type: 'pipe.failed' }
  /** The process ended, or its pipe failed without a reason. */
  | { readonly type: 'channel.lost' }
  /** Ends the process. */
  | { readonly type: 'channel.close' }
  /** The process is completely gone. */
  | { readonly type: 'process.gone' }
  | { readonly type: 'channel.stopped' };

/** Tags of the channel's states. */
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
      description: 'A pipe failed. The process has usually ended and soon reports the reason.',
      tags: 'usable',
      on: { 'channel.lost': 'lost', 'channel.close': 'closing', 'process.gone': 'gone' },
    },
    lost: {
      description: 'The connection is notified. The process may still be running.',
      on: { 'channel.close': 'closing', 'process.gone': 'gone' },
    },
    closing: { on: { 'process.gone': 'stopped' } },
    gone: {
      description: 'The process is gone, but the connection has not closed the channel yet.',
      on: { 'channel.close': 'stopped' },
    },
    stopped: { type: 'final' },
  },
});

/** State of a channel. Channels in the same state share one snapshot. */
export type StdioChannelSnapshot = SnapshotFrom<typeof stdioChannelMachine>;

export const stdioChannelChart = pureChart<StdioChannelSnapshot, StdioChannelEvent>(
  stdioChannelMachine,
);
