/**
 * One POST of a host: a message on its way to a server over HTTP, until it is answered. The machine
 * has no context, so a message needs no actor for it: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type PostEvent =
  | { readonly type: 'post.sent' }
  /** The server demands other headers, which its list of tools may name. */
  | { readonly type: 'tools.wanted' }
  | { readonly type: 'post.answered' }
  /** It has failed, or needs no answer. */
  | { readonly type: 'post.ended' }
  /** The rest of its answer is not read. */
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
      description: 'Too many others are open.',
      on: { 'post.sent': 'sent', 'post.ended': 'over' },
    },
    sent: {
      on: { 'tools.wanted': 'taught', 'post.answered': 'answered', 'post.ended': 'over' },
    },
    taught: {
      description: 'Sent once more, with the headers that the tools declare.',
      on: { 'post.answered': 'answered', 'post.ended': 'over' },
    },
    answered: {},
    over: {},
  },
});

/** The state of a POST. Those in the same state share one snapshot. */
export type PostSnapshot = SnapshotFrom<typeof postMachine>;

export const postChart: PureChart<PostSnapshot, PostEvent> = pureChart(postMachine);
