/**
 * State of one list of a server: tools, prompts, resources or templates.
 *
 * The list is fetched when first needed, and kept current from then on. One query at a time fetches
 * all pages. However often the list changes meanwhile, it is fetched once more, and the last answer
 * wins ({@link QueryState}). If it keeps changing, the pause between queries grows; a query always
 * follows the last change. A known list outlives the channel: it becomes stale, and is fetched
 * again over the next channel.
 *
 * The actor `ask` is provided.
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
  QueryLimits,
  QueryResult,
} from '../../../../src/machines/overtaken-answers.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

/** Lists of a server. */
export type CatalogName = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

/** Output of `ask`, which rejects if the server did not answer with a list. */
export type CatalogOutcome =
  | {
      readonly kind: 'answered';
      readonly items: readonly JsonObject[];
      /** End of the list's freshness, clock ms; Infinity if the server gives none. */
      readonly freshUntil: number;
      /** Reason for an incomplete list. */
      readonly cut?: string;
    }
  /** The server has no such list. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** Pauses between queries of a list that keeps changing. */
export interface QuerySpacing {
  /**
   * Pause between two close queries, ms; doubled each time. After that time without a change, the
   * next query is immediate again. 0: no pause.
   */
  readonly spacingMs: number;
  /** Maximum pause, ms. */
  readonly maxSpacingMs: number;
}

export interface CatalogInput extends InputScope, QueryLimits, QuerySpacing {
  readonly name: CatalogName;
  /** `reachable` if the server can be queried at the start. */
  readonly begins?: 'reachable' | 'away';
}

/** Events of the catalog machine. */
export type CatalogEvent =
  | { readonly type: 'channel.opened' }
  | { readonly type: 'channel.closed' }
  /** The known list belongs to another login. `channel.closed` follows. */
  | { readonly type: 'list.forget' }
  /** The list is needed: queried unless known or in flight. */
  | { readonly type: 'list.wanted' }
  /** The server reports that the list changed. */
  | { readonly type: 'list.invalidate' }
  /** The host needs a fresh list: queried at once. */
  | { readonly type: 'list.refresh' };

/** Tags of the catalog's states. */
export const catalogTags = [
  /** A query is in flight. */
  'asking',
  /** The list, or the reason for its absence, is current as far as the server has reported. */
  'settled',
] as const;

export type CatalogTag = (typeof catalogTags)[number];

/** The last published list. */
export interface Catalog {
  readonly status: 'known' | 'failed' | 'unavailable';
  /** Number of publications. */
  readonly generation: number;
  /** False if the list was known to have changed when published. */
  readonly settled: boolean;
  /** In the server's order. After a failure, the previous items. */
  readonly items: readonly JsonObject[];
  /** See {@link CatalogOutcome}. */
  readonly freshUntil: number;
  /** Reason for an incomplete or missing list. */
  readonly reason?: string;
  /** Error of the last query. */
  readonly error?: unknown;
}

export interface CatalogContext extends CatalogInput, QueryState<readonly JsonObject[]> {
  readonly catalog: Catalog | undefined;
  /** Number of close consecutive queries. */
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
      description: 'Not needed yet: changes are ignored, because the first query covers them.',
      initial: 'reachable',
      states: {
        reachable: { on: { 'list.wanted': '#catalog.asking', 'channel.closed': 'away' } },
        away: {
          description: 'The server is not connected.',
          on: {
            'list.wanted': '#catalog.waiting',
            'channel.opened': 'reachable',
            'channel.closed': {},
          },
        },
      },
    },
    waiting: {
      description: 'The server is not connected; queried once it is.',
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
          description: 'The list changed after the query was sent: query again.',
        },
      },
    },
    again: {
      description: 'The list changed soon after the last query.',
      always: [
        { guard: 'isCrowded', target: 'pausing' },
        { target: 'asking', actions: 'crowd' },
      ],
    },
    pausing: {
      description: 'The list keeps changing: pausing before the next query.',
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
      description: 'The server does not offer the list, or answered -32601.',
      tags: 'settled',
      on: { 'list.invalidate': 'again', 'list.refresh': 'asking' },
    },
    retrying: {
      description: 'The query failed: repeated when needed, after a change, or after a delay.',
      tags: 'settled',
      on: { 'list.wanted': 'asking', 'list.invalidate': 'again', 'list.refresh': 'asking' },
      after: { retryTimeout: { target: 'asking', actions: 'disperse' } },
    },
  },
});
