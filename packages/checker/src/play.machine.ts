/**
 * One play of a sequence: what is still sent, and whether the server is still waited for. It has no
 * context, and no actor runs it.
 */
import { setup } from 'xstate';
import { pureChart } from 'mcp-actors/internal';

export type PlayEvent =
  /** All moves are made. */
  | { readonly type: 'moves.done' }
  | { readonly type: 'input.ended' }
  /** The server has not done in time what was waited for. */
  | { readonly type: 'wait.expired' }
  | { readonly type: 'server.ended' };

const playMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as PlayEvent },
}).createMachine({
  id: 'play',
  context: {},
  type: 'parallel',
  states: {
    moves: {
      initial: 'playing',
      on: { 'server.ended': '.ended' },
      states: {
        playing: { on: { 'moves.done': 'settling', 'input.ended': 'inputEnded' } },
        settling: {
          description: 'What the server asks is answered, until both sides owe nothing.',
          on: { 'input.ended': 'inputEnded' },
        },
        inputEnded: { description: 'The server is to end by itself.' },
        ended: {},
      },
    },
    patience: {
      initial: 'there',
      states: {
        there: { on: { 'wait.expired': 'spent' } },
        spent: { description: 'A wait has timed out: the server gets no more time.' },
      },
    },
  },
});

export const playChart = pureChart(playMachine);
