/**
 * UI state of the page: stream status, pause, selection and layout. Session data lives in the
 * model, which receives updates through `apply`.
 */
import { assign, setup } from 'xstate';
import type { PageEvent, PageUpdate, TransitionEvent } from '../page-messages.ts';

/** Updates queued while paused. Older ones are dropped and counted. */
const maxHeld = 600;

/** Kinds of rows that can be filtered out. */
export type RowKind = 'in' | 'out' | 'transition';
export const rowKinds: readonly RowKind[] = ['in', 'out', 'transition'];

export type PageMachineEvent =
  | { readonly type: 'updates.opened' }
  /** Connection lost; the browser reconnects by itself. */
  | { readonly type: 'updates.lost' }
  /** The server announced its end. */
  | { readonly type: 'updates.ended' }
  | { readonly type: 'update.received'; readonly update: PageUpdate }
  | { readonly type: 'pause.toggle' }
  | {
      readonly type: 'sessions.seen';
      /** The most urgent session, if any. */
      readonly urgent: string | undefined;
      /** Sessions that have not ended. */
      readonly open: readonly string[];
      /** Sessions that need no attention. */
      readonly calm: readonly string[];
    }
  | { readonly type: 'session.choose'; readonly id: string }
  | { readonly type: 'sessions.search'; readonly text: string }
  | { readonly type: 'task.choose'; readonly id: string }
  /** Selects a call by the id of its tool's machine. */
  | { readonly type: 'call.choose'; readonly machine: string }
  /** Without an event, clears the selection. */
  | {
      readonly type: 'event.choose';
      readonly event: PageEvent | undefined;
      /** Transition that the event is or caused. Its task and chart are selected as well. */
      readonly moved?: TransitionEvent | undefined;
    }
  | { readonly type: 'chart.choose'; readonly name: string }
  /** Returns to the chart that explains the session's current wait. */
  | { readonly type: 'chart.follow' }
  /** Unfolds every state of the chart, or folds all but the active ones. */
  | { readonly type: 'chart.unfold' }
  /** Folds or unfolds one state; `path` includes the chart's name. */
  | { readonly type: 'chart.fold'; readonly path: string; readonly isOpen: boolean }
  | { readonly type: 'timeline.toggle' }
  | { readonly type: 'filter.change'; readonly text: string }
  | { readonly type: 'kind.toggle'; readonly kind: RowKind };

export interface PageContext {
  /** Updates queued while paused, oldest first. */
  readonly held: readonly PageUpdate[];
  readonly session: string | undefined;
  /** Search text of the session list. */
  readonly search: string;
  readonly task: string | undefined;
  /** Machine id of the most recently selected call. */
  readonly machine: string | undefined;
  readonly event: PageEvent | undefined;
  /** Name of the most recently selected chart. */
  readonly chart: string | undefined;
  /** States folded and unfolded by the person. */
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
     * True if nothing is selected, the selected session ended while another is open, or it is calm
     * while another is urgent. A selected event keeps its session on screen.
     */
    isMoreUrgent: ({ context: { session, event: looked }, event }) => {
      if (event.type !== 'sessions.seen' || event.urgent === undefined) return false;
      if (session === undefined) return true;
      const { urgent, open, calm } = event;
      if (!open.includes(session)) return open.includes(urgent);
      return looked === undefined && calm.includes(session) && !calm.includes(urgent);
    },
    hasTransition: ({ event }) => event.type === 'event.choose' && event.moved !== undefined,
    queueIsFull: ({ context }) => context.held.length >= maxHeld,
  },
  actions: {
    /** Provided by the page: passes updates to the model in order. */
    apply: (_, _updates: Updates) => {},
    /** Provided by the page: counts an update that never reaches the model. */
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
          description: 'The server does not answer. The browser keeps reconnecting.',
          on: { 'updates.opened': 'live' },
        },
        ended: { description: 'The server announced its end. The last known state stays visible.' },
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
          description: 'Display frozen for reading. Updates are queued.',
          on: {
            'update.received': [
              {
                guard: 'queueIsFull',
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
            'The page selects the most urgent session, and switches when that session is calm and another is urgent.',
          on: {
            'sessions.seen': {
              guard: 'isMoreUrgent',
              actions: assign({ session: ({ event }) => event.urgent, event: undefined }),
            },
          },
        },
        chosen: { description: 'A person selected the session. The page does not switch.' },
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
            'Chart of the selected event’s transition, else of the machine that is being waited for.',
        },
        pinned: {
          tags: 'chartIsPinned',
          on: {
            'chart.follow': 'following',
            'event.choose': { guard: 'hasTransition', target: 'following', actions: 'chooseEvent' },
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
          description: 'Only the active states are unfolded, and those that a person unfolds.',
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
        list: { tags: 'asList', on: { 'timeline.toggle': 'sequence' } },
        sequence: { on: { 'timeline.toggle': 'list' } },
      },
    },
  },
});
