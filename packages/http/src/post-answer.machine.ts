/**
 * State of the answer to one POST, until the response was sent or can no longer be.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type PostAnswerEvent =
  /** There are messages before the response, or the response is slow. */
  | { readonly type: 'stream.started' }
  /** The client disconnected before anything was sent; its call keeps running. */
  | { readonly type: 'client.disconnected' }
  /** The response was sent, or there will be none. */
  | { readonly type: 'answer.ended' };

export const postAnswerMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as PostAnswerEvent },
}).createMachine({
  id: 'post-answer',
  context: {},
  initial: 'unsent',
  states: {
    unsent: {
      description: 'Nothing was sent; the answer may still be JSON.',
      on: { 'stream.started': 'streaming', 'client.disconnected': 'lost', 'answer.ended': 'ended' },
    },
    streaming: {
      description: 'The answer is a stream that ends with the response.',
      on: { 'answer.ended': 'ended' },
    },
    lost: {
      description:
        'The client disconnected; the call is running, but its response has no recipient.',
      on: { 'answer.ended': 'ended' },
    },
    ended: { type: 'final', description: 'The answer is complete.' },
  },
});

/** State of an answer. Answers in the same state share one snapshot. */
export type PostAnswerSnapshot = SnapshotFrom<typeof postAnswerMachine>;

export const postAnswerChart: PureChart<PostAnswerSnapshot, PostAnswerEvent> =
  pureChart(postAnswerMachine);

/** The final state: `answer.ended` leads to it from every state. */
export const endedPostAnswer: PostAnswerSnapshot = postAnswerChart.next(postAnswerChart.initial, {
  type: 'answer.ended',
});
