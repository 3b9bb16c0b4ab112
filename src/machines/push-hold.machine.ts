/**
 * If several nodes serve a session, one stream holds its pushes: everything that the session says
 * outside of requests. This is what one node knows of that hold, for the newest stream that is open
 * there.
 *
 * It has no context and does nothing by itself, so a session needs no actor for it: see {@link
 * pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from './pure-chart.ts';
import type { PureChart } from './pure-chart.ts';

export type PushHoldEvent =
  /** A stream was opened here and asks for the pushes. */
  | { readonly type: 'stream.opened' }
  /** The stream was closed. */
  | { readonly type: 'stream.closed' }
  /** The stream has the pushes. */
  | { readonly type: 'hold.granted' }
  /** A stream of another node has them. */
  | { readonly type: 'hold.taken' }
  /** The other nodes could not be asked for them. */
  | { readonly type: 'hold.failed' };

/** What a state means outside the machine. */
export type PushHoldTag = /** What is pushed at this node goes on its own stream. */ 'here';

export const pushHoldMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as PushHoldEvent,
    tags: {} as PushHoldTag,
  },
}).createMachine({
  id: 'push-hold',
  context: {},
  initial: 'none',
  states: {
    none: { description: 'No stream is open here.', on: { 'stream.opened': 'asking' } },
    asking: {
      description: 'The other nodes are asked for the pushes.',
      tags: 'here',
      on: {
        'stream.opened': 'asking',
        'stream.closed': 'none',
        'hold.granted': 'holding',
        'hold.taken': 'elsewhere',
        'hold.failed': 'elsewhere',
      },
    },
    holding: {
      description: 'The stream gets the pushes of all nodes.',
      tags: 'here',
      on: {
        'stream.opened': 'asking',
        'stream.closed': 'none',
        'hold.taken': 'elsewhere',
      },
    },
    elsewhere: {
      description: 'Another node has the pushes, or nobody could be asked.',
      on: {
        'stream.opened': 'asking',
        'stream.closed': 'none',
        'hold.granted': 'holding',
      },
    },
  },
});

/** What a node knows of a session's hold. Sessions in the same state share one snapshot. */
export type PushHoldSnapshot = SnapshotFrom<typeof pushHoldMachine>;

export const pushHoldChart: PureChart<PushHoldSnapshot, PushHoldEvent> = pureChart(pushHoldMachine);
