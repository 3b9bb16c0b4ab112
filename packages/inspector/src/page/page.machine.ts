/**
 * The state of the page: its stream of updates, whether it follows them, what was chosen, and how
 * it is shown.
 *
 * What the page knows of sessions is the model's: `apply` hands updates to it.
 */
import { assign, setup } from 'xstate';
import type { PageEvent, PageUpdate, TransitionEvent } from '../page-messages.ts';

/** Updates that wait while the page is paused; older ones are let go, and counted. */
const maxHeld = 600;

/** The rows that a person may leave out. */
export type RowKind = 'in' | 'out' | 'transition';
export const rowKinds: readonly RowKind[] = ['in', 'out', 'transition'];

export type PageMachineEvent =
  | { readonly type: 'updates.opened' }
  /** The browser connects again by itself. */
  | { readonly type: 'updates.lost' }
  /** The server has said that it ends. */
  | { readonly type: 'updates.ended' }
  | { readonly type: 'update.received'; readonly update: PageUpdate }
  | { readonly type: 'pause.toggle' }
  | {
      readonly type: 'sessions.seen';
      /** The session that matters most, if there is any. */
      readonly urgent: string | undefined;
      /** Those that have not ended. */
      readonly open: readonly string[];
      /** Those that need no attention. */
      readonly calm: readonly string[];
    }
  | { readonly type: 'session.choose'; readonly id: string }
  | { readonly type: 'sessions.search'; readonly text: string }
  | { readonly type: 'task.choose'; readonly id: string }
  /** A call whose tool is a machine, by the id of that. */
  | { readonly type: 'call.choose'; readonly machine: string }
  /** Without an event, the selection is cleared. */
  | {
      readonly type: 'event.choose';
      readonly event: PageEvent | undefined;
      /** The transition that the event is or caused: its task and its chart are looked at, too. */
      readonly moved?: TransitionEvent | undefined;
    }
  | { readonly type: 'chart.choose'; readonly name: string }
  /** The page goes back to the chart of what the session waits for. */
  | { readonly type: 'chart.follow' }
  /** Unfolds every state of the chart, or folds all but the active ones again. */
  | { readonly type: 'chart.unfold' }
  /** One state, by the name of the chart and its path. */
  | { readonly type: 'chart.fold'; readonly path: string; readonly isOpen: boolean }
  | { readonly type: 'timeline.turn' }
  | { readonly type: 'filter.change'; readonly text: string }
  | { readonly type: 'kind.toggle'; readonly kind: RowKind };

export interface PageContext {
  /** What waits while nothing moves, oldest first. */
  readonly held: readonly PageUpdate[];
  readonly session: string | undefined;
  /** What the sessions in the list are searched for. */
  readonly search: string;
  readonly task: string | undefined;
  /** The id of the machine of the call that was chosen last. */
  readonly machine: string | undefined;
  readonly event: PageEvent | undefined;
  /** The name of the chart that was chosen last. */
  readonly chart: string | undefined;
  /** What a person has folded and unfolded. */
  readonly folds: { readonly [path: string]: boolean };
  readonly filter: string;
  readonly kinds: readonly RowKind[];
}

interface Updates {
  readonly updates: readonly PageUpdate[];
}

export const pageMachine = setup({
  types: {
    context: {} as PageContext,
    events: {} as PageMachineEvent,
    tags: {} as 'live' | 'moving' | 'asList' | 'chartIsPinned' | 'chartIsWhole',
  },
  guards: {
    /**
     * Nothing is looked at, or a session that has ended while another is open, or one that is at rest while another
     * waits; but who looks at an event is left there.
     */
    isBetter: ({ context: { session, event: looked }, event }) => {
      if (event.type !== 'sessions.seen' || event.urgent === undefined) return false;
      if (session === undefined) return true;
      const { urgent, open, calm } = event;
      if (!open.includes(session)) return open.includes(urgent);
      return looked === undefined && calm.includes(session) && !calm.includes(urgent);
    },
    hasMoved: ({ event }) => event.type === 'event.choose' && event.moved !== undefined,
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
    chooseEvent: assign(({ context, event }) =>
      event.type === 'event.choose'
        ? { event: event.event, task: event.moved?.task ?? context.task }
        : {},
    ),
  },
}).createMachine({
  id: 'page',
  type: 'parallel',
  context: {
    held: [],
    session: undefined,
    search: '',
    task: undefined,
    machine: undefined,
    event: undefined,
    chart: undefined,
    folds: {},
    filter: '',
    kinds: rowKinds,
  },
  on: {
    'event.choose': { actions: 'chooseEvent' },
    'sessions.search': { actions: assign({ search: ({ event }) => event.text }) },
    'filter.change': { actions: assign({ filter: ({ event }) => event.text }) },
    'kind.toggle': {
      actions: assign({
        kinds: ({ context, event }) =>
          rowKinds.filter((kind) => context.kinds.includes(kind) !== (kind === event.kind)),
      }),
    },
  },
  states: {
    connection: {
      initial: 'connecting',
      states: {
        connecting: { on: { 'updates.opened': 'live', 'updates.lost': 'lost' } },
        live: {
          tags: 'live',
          on: { 'updates.lost': 'lost', 'updates.ended': 'ended' },
        },
        lost: {
          description: 'The server does not answer: it has gone, or will be back.',
          on: { 'updates.opened': 'live' },
        },
        ended: { description: 'The server has said that it ends. What was last seen stays.' },
      },
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
    focus: {
      initial: 'automatic',
      on: {
        'session.choose': {
          target: '.chosen',
          actions: assign({ session: ({ event }) => event.id, event: undefined }),
        },
      },
      states: {
        automatic: {
          description:
            'The page opens the session that matters most, and leaves it if it rests and another waits.',
          on: {
            'sessions.seen': {
              guard: 'isBetter',
              actions: assign({ session: ({ event }) => event.urgent, event: undefined }),
            },
          },
        },
        chosen: { description: 'A person has chosen the session, and leaves it.' },
      },
    },
    chart: {
      initial: 'following',
      on: {
        'chart.choose': {
          target: '.pinned',
          actions: assign({ chart: ({ event }) => event.name }),
        },
        'task.choose': {
          target: '.pinned',
          actions: assign({ task: ({ event }) => event.id, chart: 'task' }),
        },
        'call.choose': {
          target: '.pinned',
          actions: assign({ machine: ({ event }) => event.machine, chart: 'tool' }),
        },
      },
      states: {
        following: {
          description:
            'The chart of the chosen event’s transition, or else of what the session waits for.',
        },
        pinned: {
          tags: 'chartIsPinned',
          on: {
            'chart.follow': 'following',
            'event.choose': { guard: 'hasMoved', target: 'following', actions: 'chooseEvent' },
          },
        },
      },
    },
    chartStates: {
      initial: 'folded',
      on: {
        'chart.fold': {
          actions: assign({
            folds: ({ context, event }) => ({ ...context.folds, [event.path]: event.isOpen }),
          }),
        },
      },
      states: {
        folded: {
          description: 'The active states alone are unfolded, and those that a person unfolds.',
          on: { 'chart.unfold': { target: 'whole', actions: assign({ folds: {} }) } },
        },
        whole: {
          tags: 'chartIsWhole',
          on: { 'chart.unfold': { target: 'folded', actions: assign({ folds: {} }) } },
        },
      },
    },
    timeline: {
      initial: 'list',
      states: {
        list: { tags: 'asList', on: { 'timeline.turn': 'sequence' } },
        sequence: { on: { 'timeline.turn': 'list' } },
      },
    },
  },
});
