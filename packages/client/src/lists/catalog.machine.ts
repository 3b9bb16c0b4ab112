/**
 * What is known of one list of a server: its tools, prompts, resources or templates.
 *
 * The list is asked for when it is first wanted, and kept up to date from then on. One query is in
 * flight, for all pages. However often the list changes meanwhile, it is asked for once more, and
 * the last answer wins ({@link QueryState}). If it keeps changing, the pause between two queries
 * grows; the last change is always followed by a query. What is known outlives the channel: it is
 * out of date from then on, and asked for again over the next channel.
 *
 * The machine does not know how a list is asked for: `ask` is provided.
 *
 * @see MCP 2025-11-25, server/tools, "List Changed Notification"
 */
import { and, assign, fromPromise, setup, stateIn } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import {
  afterDiscard,
  afterPublication,
  resultParams,
  mayDiscard,
  initialQuery,
  retryDelayOf,
} from '../../../../src/machines/overtaken-answers.ts';
import type {
  QueryState,
  AskingLimits,
  QueryResult,
} from '../../../../src/machines/overtaken-answers.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

/** The lists of a server. */
export type CatalogName = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

/** What `ask` resolves with. It rejects if the server did not answer with a list. */
export type CatalogOutcome =
  | {
      readonly kind: 'answered';
      readonly items: readonly JsonObject[];
      /**
       * When the list stops being fresh, the clock's milliseconds; Infinity if the server says
       * nothing.
       */
      readonly freshUntil: number;
      /** Why the list is incomplete. */
      readonly cut?: string;
    }
  /** The server has no such list. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** The pauses between queries while a list keeps changing. */
export interface QuerySpacing {
  /**
   * The pause between two queries that follow each other closely, milliseconds; doubled with each.
   * After that long without a change the next query is sent at once again. 0: no pause.
   */
  readonly spacingMs: number;
  /** The longest pause, milliseconds. */
  readonly maxSpacingMs: number;
}

export interface CatalogInput extends InputScope, AskingLimits, QuerySpacing {
  readonly name: CatalogName;
  /** Whether the server is there. */
  readonly begins?: 'reachable' | 'away';
}

/** What the machine takes. */
export type CatalogEvent =
  | { readonly type: 'channel.opened' }
  | { readonly type: 'channel.closed' }
  /** What is known was for another login. `channel.closed` follows. */
  | { readonly type: 'list.forget' }
  /** Something wants the list: it is queried if it is not known and not being queried. */
  | { readonly type: 'list.wanted' }
  /** The server says that the list has changed. */
  | { readonly type: 'list.invalidate' }
  /** The host waits for a fresh list: it is queried at once. */
  | { readonly type: 'list.refresh' };

/** What a state means outside the machine. */
export const catalogTags = [
  /** The server has been asked and has not answered. */
  'asking',
  /** The list, or the reason for its absence, is up to date as far as the server has said. */
  'settled',
] as const;

export type CatalogTag = (typeof catalogTags)[number];

/** What was published last. */
export interface Catalog {
  readonly status: 'known' | 'failed' | 'unavailable';
  /** Counts the publications. */
  readonly generation: number;
  /** False if the list was known to have changed when this was published. */
  readonly settled: boolean;
  /** In the server's order. After a failure, the items that were known before. */
  readonly items: readonly JsonObject[];
  /** See {@link CatalogOutcome}. */
  readonly freshUntil: number;
  /** Why the list is cut, or why the server has none. */
  readonly reason?: string;
  /** Why the last query failed. */
  readonly error?: unknown;
}

export interface CatalogContext extends CatalogInput, QueryState<readonly JsonObject[]> {
  readonly catalog: Catalog | undefined;
  /** How many queries have followed each other closely. */
  readonly crowd: number;
}

function spacingOf({ spacingMs, maxSpacingMs, crowd }: CatalogContext): number {
  const doublings = Math.min(Math.max(0, crowd - 1), 31);
  return Math.min(maxSpacingMs, spacingMs * 2 ** doublings);
}

const unprovided: PromiseActorLogic<CatalogOutcome, CatalogInput> = fromPromise(() =>
  Promise.reject(
    new Error('catalogMachine needs an "ask" actor: catalogMachine.provide({ actors: { ask } })'),
  ),
);

type Published = CatalogOutcome | { readonly kind: 'failed'; readonly error: unknown };

const found = resultParams<CatalogOutcome, Published>((error) => ({ kind: 'failed', error }));

function nextCatalog(
  { catalog: previous, discarded }: CatalogContext,
  { outcome, settled }: QueryResult<Published>,
): Catalog {
  const generation = (previous?.generation ?? 0) + 1;
  switch (outcome.kind) {
    case 'answered': {
      const { items, freshUntil, cut } = outcome;
      const why = cut === undefined ? {} : { reason: cut };
      return { status: 'known', generation, settled, items, freshUntil, ...why };
    }
    case 'failed': {
      const { error } = outcome;
      const items = discarded ?? previous?.items ?? [];
      return { status: 'failed', generation, settled, items, freshUntil: -Infinity, error };
    }
    case 'unavailable': {
      const { reason } = outcome;
      const items: readonly JsonObject[] = [];
      return { status: 'unavailable', generation, settled, items, freshUntil: Infinity, reason };
    }
  }
}

/** One list of one connection. */
export const catalogMachine = setup({
  types: {
    input: {} as CatalogInput,
    context: {} as CatalogContext,
    events: {} as CatalogEvent,
    tags: {} as CatalogTag,
  },
  actors: { ask: unprovided },
  guards: {
    beginsAway: ({ context }) => context.begins === 'away',
    isStale: stateIn({ asking: 'stale' }),
    isCrowded: ({ context }) => context.crowd > 0 && spacingOf(context) > 0,
    mayDiscard: ({ context }) => mayDiscard(context),
    isUnavailable: (_, { outcome }: Pick<QueryResult<CatalogOutcome>, 'outcome'>) =>
      outcome.kind === 'unavailable',
  },
  delays: {
    retryTimeout: ({ context }) => retryDelayOf(context),
    spacingTimeout: ({ context }) => spacingOf(context),
  },
  actions: {
    beginAnew: assign({ failures: 0, crowd: 0 }),
    forget: assign({ catalog: undefined, ...initialQuery }),
    crowd: assign(({ context }) => ({ crowd: context.crowd + 1 })),
    disperse: assign({ crowd: 0 }),
    discard: assign(({ context }, { outcome }: Pick<QueryResult<CatalogOutcome>, 'outcome'>) =>
      afterDiscard(context, outcome.kind === 'answered' ? outcome.items : undefined),
    ),
    publish: assign(({ context }, finding: QueryResult<Published>) => ({
      ...afterPublication(context, finding.outcome.kind === 'failed' ? 'failed' : 'answered'),
      catalog: nextCatalog(context, finding),
    })),
  },
}).createMachine({
  id: 'catalog',
  context: ({ input }) => ({
    catalog: undefined,
    crowd: 0,
    ...initialQuery,
    ...input,
  }),
  initial: 'begun',
  on: {
    'channel.opened': { actions: 'beginAnew' },
    'channel.closed': '.waiting',
    'list.forget': { actions: 'forget' },
  },
  states: {
    begun: { always: [{ guard: 'beginsAway', target: 'unknown.away' }, { target: 'unknown' }] },
    unknown: {
      description: 'Nobody wants it: a change asks nothing, the first query covers it.',
      initial: 'reachable',
      states: {
        reachable: { on: { 'list.wanted': '#catalog.asking', 'channel.closed': 'away' } },
        away: {
          description: 'The server is not there.',
          on: {
            'list.wanted': '#catalog.waiting',
            'channel.opened': 'reachable',
            'channel.closed': {},
          },
        },
      },
    },
    waiting: {
      description: 'The server is not there. What is known may be old: asked for once it is.',
      on: { 'channel.opened': { target: 'asking', actions: 'beginAnew' } },
    },
    asking: {
      description: 'One query in flight, page by page.',
      tags: 'asking',
      invoke: {
        id: 'ask',
        src: 'ask',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'isUnavailable', params: found.outcome },
            target: 'unavailable',
            actions: { type: 'publish', params: found.settledOutcome },
          },
          {
            guard: and(['isStale', 'mayDiscard']),
            target: 'again',
            actions: { type: 'discard', params: found.outcome },
          },
          {
            guard: 'isStale',
            target: 'again',
            actions: { type: 'publish', params: found.overtakenOutcome },
          },
          { target: 'known', actions: { type: 'publish', params: found.settledOutcome } },
        ],
        onError: [
          {
            guard: 'isStale',
            target: 'again',
            actions: { type: 'publish', params: found.overtakenFailure },
          },
          { target: 'retrying', actions: { type: 'publish', params: found.settledFailure } },
        ],
      },
      initial: 'fresh',
      states: {
        fresh: { on: { 'list.invalidate': 'stale', 'list.refresh': 'stale' } },
        stale: {
          description:
            'The list changed after the query went out: its answer is old. Ask once more.',
        },
      },
    },
    again: {
      description: 'It has changed soon after the last query.',
      always: [
        { guard: 'isCrowded', target: 'pausing' },
        { target: 'asking', actions: 'crowd' },
      ],
    },
    pausing: {
      description: 'It changes again and again. Whatever comes meanwhile is in the next answer.',
      on: { 'list.refresh': 'asking' },
      after: { spacingTimeout: { target: 'asking', actions: 'crowd' } },
    },
    known: {
      tags: 'settled',
      on: { 'list.refresh': 'asking' },
      initial: 'recent',
      states: {
        recent: {
          on: { 'list.invalidate': '#catalog.again' },
          after: { spacingTimeout: 'rested' },
        },
        rested: { entry: 'disperse', on: { 'list.invalidate': '#catalog.asking' } },
      },
    },
    unavailable: {
      description: 'The server does not offer it, or has answered -32601.',
      tags: 'settled',
      on: { 'list.invalidate': 'again', 'list.refresh': 'asking' },
    },
    retrying: {
      description: 'The query failed: asked again when it is wanted, changes, or after a while.',
      tags: 'settled',
      on: { 'list.wanted': 'asking', 'list.invalidate': 'again', 'list.refresh': 'asking' },
      after: { retryTimeout: { target: 'asking', actions: 'disperse' } },
    },
  },
});
