/**
 * A booking in three steps: date, seating, name. Each step has a way back; the last one confirms.
 */
import { assign, setup } from 'xstate';
import type { ToolAnswer } from 'mcp-actors';

interface Booking {
  readonly day: string;
  readonly people?: number;
  readonly seating?: string;
  readonly name?: string;
}

/** Content of the submitted forms. */
type Content = { readonly back?: boolean } & Omit<Booking, 'day'>;

const back = { type: 'boolean', title: 'Go back', default: false } as const;

// #region types
export const bookingMachine = setup({
  types: {
    context: {} as Booking,
    input: {} as { readonly day: string },
    events: {} as ToolAnswer<Content>,
    output: {} as string,
    tags: {} as 'waiting',
  },
  guards: {
    goesBack: (_, { back: goes }: Content) => goes === true,
  },
  actions: {
    note: assign((_, { back: _back, ...answers }: Content) => answers),
  },
  // #endregion
}).createMachine({
  // #region root
  id: 'booking',
  context: ({ input }) => ({ day: input.day }),
  initial: 'people',
  on: {
    'answer.declined': '.abandoned',
    'answer.cancelled': '.abandoned',
  },
  // #endregion
  states: {
    // #region made
    people: {
      tags: 'waiting',
      meta: {
        ask: ({ context }: { context: Booking }) => ({
          elicit: {
            message: `How many people, on ${context.day}?`,
            schema: {
              type: 'object',
              properties: { people: { type: 'integer', minimum: 1, maximum: 12 } },
              required: ['people'],
            },
          },
        }),
      },
      on: {
        'answer.accepted': {
          target: 'seating',
          actions: { type: 'note', params: ({ event }) => event.content },
        },
      },
    },
    // #endregion
    // #region fixed
    seating: {
      tags: 'waiting',
      meta: {
        ask: {
          elicit: {
            message: 'Where would you like to sit?',
            schema: {
              type: 'object',
              properties: { seating: { type: 'string', enum: ['inside', 'terrace'] }, back },
            },
          },
        },
      },
      on: {
        'answer.accepted': [
          {
            guard: { type: 'goesBack', params: ({ event }) => event.content },
            target: 'people',
          },
          {
            target: 'confirming',
            actions: { type: 'note', params: ({ event }) => event.content },
          },
        ],
      },
    },
    // #endregion
    confirming: {
      tags: 'waiting',
      meta: {
        ask: ({ context: { day, people, seating = 'anywhere' } }: { context: Booking }) => ({
          elicit: {
            message: `A table for ${people}, ${seating}, on ${day}: under which name?`,
            schema: { type: 'object', properties: { name: { type: 'string' }, back } },
          },
        }),
      },
      on: {
        'answer.accepted': [
          {
            guard: { type: 'goesBack', params: ({ event }) => event.content },
            target: 'seating',
          },
          {
            target: 'booked',
            actions: { type: 'note', params: ({ event }) => event.content },
          },
        ],
      },
    },
    // #region end
    booked: {
      type: 'final',
      output: ({ context: { day, people, seating = 'anywhere', name = 'nobody' } }) =>
        `Booked for ${people}, ${seating}, on ${day}, under the name of ${name}.`,
    },
    abandoned: { type: 'final', output: 'Nothing is booked.' },
  },
  // The tool's result is the output of the final state.
  output: ({ event }) => event.output as string,
  // #endregion
});
