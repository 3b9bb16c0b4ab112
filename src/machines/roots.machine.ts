/**
 * Keeps the client's roots current.
 *
 * A client with a standalone stream is queried as soon as its roots are unknown. A client without one
 * (HTTP without a GET stream) is queried on the stream of the first call that needs the roots
 * (`roots.wanted`); the answer serves every call.
 *
 * `querying.stale` handles changes during a query: any number of changes causes one more query, the
 * stale answer is discarded, and the last answer wins. If changes never stop, every `maxOvertaken`-th
 * stale answer is published as not settled, so that waiters do not starve.
 *
 * The provided `ask` actor performs the query. The default sends `roots/list`; other sources of roots
 * (a host, a multi round-trip result) provide another `ask`.
 *
 * @see MCP 2025-11-25, client/roots
 */
import { and, assign, enqueueActions, fromPromise, not, sendTo, setup, stateIn } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import { RuntimeError, textOfError } from '../protocol/errors.ts';
import type { RelatedRequest } from '../protocol/frames.ts';
import {
  afterDiscard,
  afterPublication,
  resultParams,
  mayDiscard,
  initialQuery,
  retryDelayOf,
} from './overtaken-answers.ts';
import type { QueryState, QueryLimits, QueryResult } from './overtaken-answers.ts';
import { rootsFailureOf } from '../protocol/roots.ts';
import type { Root, RootsFailure, RootsReport } from '../protocol/roots.ts';
import type { Ref } from './port.ts';
import type { CorrelationEvent, InputScope } from './peer-ports.ts';

/** Result of `ask`. The actor rejects if the client did not answer with roots. */
export type AskOutcome =
  | { readonly kind: 'answered'; readonly roots: readonly Root[] }
  | {
      readonly kind: 'unsupported';
      readonly problem: string;
      readonly failure?: RootsFailure;
    };

/** Input of the `ask` actor. */
export interface AskInput extends InputScope {
  /** Correlation actor of the session. */
  readonly correlation: Ref<CorrelationEvent>;
  /** Timeout of the query, milliseconds. */
  readonly timeoutMs: number;
  /** Request that needs the roots; undefined if the session queries on its own. */
  readonly relatedTo?: RelatedRequest | undefined;
}

export interface RootsInput extends Omit<AskInput, 'relatedTo'>, QueryLimits {
  /** Replies to `roots.due` with `roots.ask` or `roots.defer`. */
  readonly session: Ref<RootsFact>;
}

/** Events of the machine. */
export type RootsEvent =
  /** The standalone stream is open: query now if necessary. */
  | { readonly type: 'roots.ask' }
  /** Query only on the stream of a call. */
  | { readonly type: 'roots.defer' }
  /** The client announced a change of its list. */
  | { readonly type: 'roots.invalidate' }
  /** A call waits for the roots: query on its stream unless a query is in flight. */
  | { readonly type: 'roots.wanted'; readonly relatedTo: RelatedRequest }
  /** That call was cancelled, so a query on its stream cannot be answered. */
  | { readonly type: 'roots.abandoned'; readonly relatedTo: RelatedRequest };

/** Published roots of the client. */
export interface RootsUpdated {
  readonly type: 'roots.updated';
  readonly report: RootsReport;
}

/** Events from the machine to the session. */
export type RootsFact =
  | RootsUpdated
  /** A query is pending. */
  | { readonly type: 'roots.due' };

/** Tags of the states, for code outside the machine. */
export const rootsTags = [
  /** A query is pending or in flight. */
  'asking',
  /** The list changed during the query, so another one follows. */
  'overtaken',
  /** No announced change is missing from the published roots. */
  'settled',
  /** The query waits for a call that needs the roots, because there is no standalone stream. */
  'deferred',
] as const;

export type RootsTag = (typeof rootsTags)[number];

export interface RootsContext extends AskInput, RootsInput, QueryState<readonly Root[]> {
  readonly report: RootsReport | undefined;
}

const unprovided: PromiseActorLogic<AskOutcome, AskInput> = fromPromise(() =>
  Promise.reject(
    new Error('rootsMachine needs an "ask" actor: rootsMachine.provide({ actors: { ask } })'),
  ),
);

/** Report for a client without the roots capability, which needs no machine. */
export const undeclaredRoots: RootsReport = {
  status: 'undeclared',
  generation: 1,
  settled: true,
  roots: [],
};

/** Published outcome or failure. */
type Published =
  | AskOutcome
  | { readonly kind: 'failed'; readonly problem: string; readonly failure: RootsFailure };

function nextReport(
  { report: previous, discarded }: RootsContext,
  finding: QueryResult<Published>,
): RootsReport {
  const { outcome, settled } = finding;
  const generation = (previous?.generation ?? 0) + 1;
  switch (outcome.kind) {
    case 'answered':
      return { status: 'known', generation, settled, roots: outcome.roots };
    case 'failed': {
      const { problem, failure } = outcome;
      const roots = discarded ?? previous?.roots ?? [];
      return { status: 'failed', generation, settled, roots, problem, failure };
    }
    case 'unsupported': {
      const { kind: status, ...why } = outcome;
      return { status, generation, settled, roots: [], ...why };
    }
  }
}

const found = resultParams<AskOutcome, Published>((error) => {
  const problem = textOfError(error instanceof Error ? error.message : error);
  return { kind: 'failed', problem, failure: rootsFailureOf(error) };
});

/** The roots of one session. */
export const rootsMachine = setup({
  types: {
    input: {} as RootsInput,
    context: {} as RootsContext,
    events: {} as RootsEvent,
    tags: {} as RootsTag,
  },
  actors: { ask: unprovided },
  guards: {
    hasAsker: ({ context }) => context.relatedTo !== undefined,
    isAsker: ({ context, event }) =>
      event.type === 'roots.abandoned' && event.relatedTo === context.relatedTo,
    isStale: stateIn({ querying: 'stale' }),
    mayDiscard: ({ context }) => mayDiscard(context),
    isFirst: stateIn({ querying: 'fresh' }),
    isGarbled: ({ event }) => {
      const { error } = event as { readonly error?: unknown };
      return error instanceof RuntimeError && error.code === 'INVALID_RESPONSE';
    },
    isUnsupported: (_, { outcome }: Pick<QueryResult<AskOutcome>, 'outcome'>) =>
      outcome.kind === 'unsupported',
  },
  delays: {
    retryTimeout: ({ context }) => retryDelayOf(context),
  },
  actions: {
    tellDue: sendTo(({ context }) => context.session, { type: 'roots.due' }),
    askFor: assign((_, { relatedTo }: { readonly relatedTo: RelatedRequest | undefined }) => ({
      relatedTo,
    })),
    discard: assign(({ context }, { outcome }: Pick<QueryResult<AskOutcome>, 'outcome'>) => ({
      ...afterDiscard(context, outcome.kind === 'answered' ? outcome.roots : undefined),
      relatedTo: undefined,
    })),
    publish: enqueueActions(({ context, enqueue }, finding: QueryResult<Published>) => {
      const report = nextReport(context, finding);
      const end = report.status === 'failed' ? 'failed' : 'answered';
      enqueue.assign({ report, ...afterPublication(context, end), relatedTo: undefined });
      enqueue.sendTo(context.session, { type: 'roots.updated', report } satisfies RootsUpdated);
    }),
  },
}).createMachine({
  id: 'roots',
  context: ({ input }) => ({
    relatedTo: undefined,
    report: undefined,
    ...initialQuery,
    ...input,
  }),
  initial: 'unasked',
  states: {
    unasked: {
      description:
        'The session is not initialized yet. Changes are ignored, the first query covers them.',
      on: { 'roots.ask': 'querying', 'roots.defer': 'deferred' },
    },
    due: {
      description: 'A query is pending. The session decides which stream to use.',
      tags: 'asking',
      entry: 'tellDue',
      on: { 'roots.ask': 'querying', 'roots.defer': 'deferred' },
    },
    deferred: {
      description: 'No standalone stream: the next call that needs the roots sends the query.',
      tags: 'deferred',
      on: {
        'roots.ask': 'querying',
        'roots.wanted': {
          target: 'querying',
          actions: { type: 'askFor', params: ({ event }) => event },
        },
      },
    },
    querying: {
      description: 'One query in flight.',
      tags: 'asking',
      invoke: {
        id: 'ask',
        src: 'ask',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'isUnsupported', params: found.outcome },
            target: 'unsupported',
            actions: { type: 'publish', params: found.settledOutcome },
          },
          {
            guard: and(['isStale', 'mayDiscard']),
            target: 'due',
            actions: { type: 'discard', params: found.outcome },
          },
          {
            guard: 'isStale',
            target: 'due',
            actions: { type: 'publish', params: found.overtakenOutcome },
          },
          { target: 'known', actions: { type: 'publish', params: found.settledOutcome } },
        ],
        onError: [
          {
            guard: 'isStale',
            target: 'due',
            actions: { type: 'publish', params: found.overtakenFailure },
          },
          {
            guard: and(['isFirst', 'isGarbled']),
            target: '#roots.querying.repeated',
            reenter: true,
          },
          { target: 'retrying', actions: { type: 'publish', params: found.settledFailure } },
        ],
      },
      on: {
        'roots.abandoned': {
          guard: 'isAsker',
          target: 'due',
          actions: { type: 'askFor', params: { relatedTo: undefined } },
        },
        'roots.defer': { guard: not('hasAsker'), target: 'deferred' },
      },
      initial: 'fresh',
      states: {
        fresh: { on: { 'roots.invalidate': 'stale' } },
        repeated: {
          description:
            'The first answer was malformed. A second malformed answer counts as a failure.',
          on: { 'roots.invalidate': 'stale' },
        },
        stale: {
          description: 'The list changed during the query: its answer is stale, query again.',
          tags: 'overtaken',
        },
      },
    },
    known: { tags: 'settled', on: { 'roots.invalidate': 'due' } },
    unsupported: {
      description: 'The client answered -32601 and is not queried again.',
      tags: 'settled',
    },
    retrying: {
      description:
        'The query failed: retry when the list changes, when the standalone stream opens, or after a delay.',
      tags: 'settled',
      on: {
        'roots.invalidate': 'due',
        'roots.ask': 'querying',
      },
      after: { retryTimeout: 'due' },
    },
  },
});
