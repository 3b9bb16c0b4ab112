/**
 * A stream that another node writes, as this node follows it: it reads when it is told that something
 * was appended, and once more if it is told so while it reads.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from './pure-chart.ts';
import type { PureChart } from './pure-chart.ts';

export type StreamFollowerEvent =
  /** Something may have been appended. */
  | { readonly type: 'stream.look' }
  /** What was appended has been read, or could not be. */
  | { readonly type: 'stream.read' }
  /** The store has answered. */
  | { readonly type: 'store.answered' }
  | { readonly type: 'store.failed' }
  /** Nothing more comes, or it is wanted no longer. */
  | { readonly type: 'stream.ended' };

export const streamFollowerMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as StreamFollowerEvent },
}).createMachine({
  id: 'stream-follower',
  context: {},
  initial: 'following',
  states: {
    following: {
      type: 'parallel',
      on: { 'stream.ended': 'ended' },
      states: {
        reading: {
          initial: 'waiting',
          states: {
            waiting: { on: { 'stream.look': 'once' } },
            once: {
              description: 'It reads.',
              on: { 'stream.look': 'again', 'stream.read': 'waiting' },
            },
            again: {
              description: 'It reads, and something was appended meanwhile.',
              on: { 'stream.read': 'once' },
            },
          },
        },
        store: {
          initial: 'there',
          states: {
            there: { on: { 'store.failed': 'away' } },
            away: {
              description: 'The client has heard that the store does not answer.',
              on: { 'store.answered': 'there' },
            },
          },
        },
      },
    },
    ended: { type: 'final' },
  },
});

/** How far a follower is. Followers in the same state have the same one. */
export type StreamFollowerSnapshot = SnapshotFrom<typeof streamFollowerMachine>;

export const streamFollowerChart: PureChart<StreamFollowerSnapshot, StreamFollowerEvent> =
  pureChart(streamFollowerMachine);
