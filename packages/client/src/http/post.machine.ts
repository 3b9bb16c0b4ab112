/**
 * One POST of a message to a server over HTTP, until it is answered. The machine has no context, so
 * a message needs no actor for it: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type PostEvent =
  | { readonly type: 'post.sent' }
  /** The server requires other headers, which its tool list may name. */
  | { readonly type: 'tools.wanted' }
  | { readonly type: 'post.answered' }
  /** The POST failed, or needs no answer. */
  | { readonly type: 'post.ended' }
  /** The rest of the answer is not read. */
  | { readonly type: 'post.cancelled' };

export const postMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as PostEvent },
}).createMachine({
  id: 'post',
  context: {},
  initial: 'waiting',
  on: { 'post.cancelled': '.over' },
  states: {
    waiting: {
      description: 'Queued: too many requests are open.',
      on: { 'post.sent': 'sent', 'post.ended': 'over' },
    },
    sent: {
      on: { 'tools.wanted': 'taught', 'post.answered': 'answered', 'post.ended': 'over' },
    },
    taught: {
      description: 'Resent with the headers that the tools declare.',
      on: { 'post.answered': 'answered', 'post.ended': 'over' },
    },
    answered: {},
    over: {},
  },
});

/** State of a POST. POSTs in the same state share one snapshot. */
export type PostSnapshot = SnapshotFrom<typeof postMachine>;

export const postChart: PureChart<PostSnapshot, PostEvent> = pureChart(postMachine);
