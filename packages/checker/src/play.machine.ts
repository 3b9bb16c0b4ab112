/**
 * State of one play: which moves remain, and whether the player still waits for the server.
 * Stateless apart from that, and never run as an actor.
 */
import { setup } from 'xstate';
import { pureChart } from 'mcp-actors/internal';

export type PlayEvent =
  /** All moves are done. */
  | { readonly type: 'moves.done' }
  | { readonly type: 'input.ended' }
  /** The server exceeded a time limit. */
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
          description: 'The server’s requests are answered until neither side has open requests.',
          on: { 'input.ended': 'inputEnded' },
        },
        inputEnded: { description: 'The server should exit by itself.' },
        ended: {},
      },
    },
    patience: {
      initial: 'there',
      states: {
        there: { on: { 'wait.expired': 'spent' } },
        spent: { description: 'A wait timed out, so the server gets no more time.' },
      },
    },
  },
});

export const playChart = pureChart(playMachine);
