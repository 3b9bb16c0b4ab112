/**
 * What the page looks at, whatever it draws of it: how its stream of updates stands, whether they
 * move it, and what was chosen.
 *
 * What the page knows of sessions is the model's: `apply` hands updates to it.
 */
import { assign, setup } from 'xstate';
import type { PageEvent, PageUpdate } from '../page-messages.ts';

/** Updates that wait while the page is paused; older ones are let go, and counted. */
const maxHeld = 600;

export type PageMachineEvent =
  | { readonly type: 'updates.opened' }
  /** The browser connects again by itself. */
  | { readonly type: 'updates.lost' }
  | { readonly type: 'update.received'; readonly update: PageUpdate }
  | { readonly type: 'pause.toggle' }
  | { readonly type: 'session.choose'; readonly id: string }
  | { readonly type: 'task.choose'; readonly id: string }
  /**
   * Without an event: nothing is chosen any more. With the task whose transition it is, that is
   * chosen, too.
   */
  | {
      readonly type: 'event.choose';
      readonly event: PageEvent | undefined;
      readonly task: string | undefined;
    };

export interface PageContext {
  /** What waits while nothing moves, oldest first. */
  readonly held: readonly PageUpdate[];
  readonly session: string | undefined;
  readonly task: string | undefined;
  readonly event: PageEvent | undefined;
}

interface Updates {
  readonly updates: readonly PageUpdate[];
}

export const pageMachine = setup({
  types: {
    context: {} as PageContext,
    events: {} as PageMachineEvent,
    tags: {} as 'live' | 'moving',
  },
  guards: {
    isFull: ({ context }) => context.held.length >= maxHeld,
  },
  actions: {
    /** Provided: the model takes them, in order. */
    apply: (_, _updates: Updates) => {},
    /** Provided: one more update does not reach the model. */
    countMissed: () => {},
    hold: assign({
      held: ({ context }, { updates }: Updates) => [...context.held, ...updates].slice(-maxHeld),
    }),
    release: assign({ held: [] }),
  },
}).createMachine({
  id: 'page',
  type: 'parallel',
  context: { held: [], session: undefined, task: undefined, event: undefined },
  on: {
    'session.choose': { actions: assign({ session: ({ event }) => event.id }) },
    'task.choose': { actions: assign({ task: ({ event }) => event.id }) },
    'event.choose': {
      actions: assign(({ context, event }) => ({
        event: event.event,
        task: event.task ?? context.task,
      })),
    },
  },
  states: {
    connection: {
      initial: 'connecting',
      on: { 'updates.opened': '.live', 'updates.lost': '.lost' },
      states: { connecting: {}, live: { tags: 'live' }, lost: {} },
    },
    view: {
      initial: 'following',
      states: {
        following: {
          tags: 'moving',
          on: {
            'update.received': {
              actions: { type: 'apply', params: ({ event }) => ({ updates: [event.update] }) },
            },
            'pause.toggle': 'paused',
          },
        },
        paused: {
          description: 'Nothing moves, so that one can read. What comes meanwhile waits.',
          on: {
            'update.received': [
              {
                guard: 'isFull',
                actions: [
                  { type: 'hold', params: ({ event }) => ({ updates: [event.update] }) },
                  'countMissed',
                ],
              },
              { actions: { type: 'hold', params: ({ event }) => ({ updates: [event.update] }) } },
            ],
            'pause.toggle': {
              target: 'following',
              actions: [
                { type: 'apply', params: ({ context }) => ({ updates: context.held }) },
                'release',
              ],
            },
          },
        },
      },
    },
  },
});
