/**
 * When the client is asked for its roots.
 *
 * A client with a stream of its own is asked as soon as its roots are unknown. A client that only
 * sends requests and reads their answers has no such stream, as over HTTP without a GET: it is
 * asked on the stream of the call that needs the roots (`roots.wanted`), and the answer serves
 * every call.
 *
 * `querying.stale` handles changes during a query: any number of them cost one more query, and the
 * last answer wins, because an overtaken answer is discarded. If answers are overtaken again and
 * again, every `maxOvertaken`-th is published as not settled, so that no waiter starves.
 *
 * The machine does not know how roots are asked for: `ask` is provided. Over a legacy session it
 * sends `roots/list`; another source of roots (a host, a multi round-trip result) is another `ask`.
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
import type { QueryState, AskingLimits, QueryResult } from './overtaken-answers.ts';
import { rootsFailureOf } from '../protocol/roots.ts';
import type { Root, RootsFailure, RootsReport } from '../protocol/roots.ts';
import type { Ref } from './port.ts';
import type { CorrelationEvent, InputScope } from './peer-ports.ts';

/**
 * What `ask` resolves with. It rejects if the client did not answer with roots; the error's message
 * says why.
 */
export type AskOutcome =
  | { readonly kind: 'answered'; readonly roots: readonly Root[] }
  | {
      readonly kind: 'unsupported';
      readonly problem: string;
      readonly failure?: RootsFailure;
    };

/** The input of the actor that asks the client for its roots. */
export interface AskInput extends InputScope {
  /** The correlation actor of the session. */
  readonly correlation: Ref<CorrelationEvent>;
  /** How long the answer may take, milliseconds. */
  readonly timeoutMs: number;
  /** The client's request that needs the roots; undefined if the session asks. */
  readonly relatedTo?: RelatedRequest | undefined;
}

export interface RootsInput extends Omit<AskInput, 'relatedTo'>, AskingLimits {
  /** Answers `roots.due` with `roots.ask` or `roots.defer`. */
  readonly session: Ref<RootsFact>;
}

/** What the machine takes. */
export type RootsEvent =
  /** The client can be asked by itself: if its roots are due, it is asked now. */
  | { readonly type: 'roots.ask' }
  /** The client can only be asked on the stream of a call. */
  | { readonly type: 'roots.defer' }
  /** The client says that its list has changed. */
  | { readonly type: 'roots.invalidate' }
  /**
   * A call waits for the roots: if the client is not being asked, it is asked on the call's stream.
   */
  | { readonly type: 'roots.wanted'; readonly relatedTo: RelatedRequest }
  /** That call was cancelled: the question on its stream can no longer be answered. */
  | { readonly type: 'roots.abandoned'; readonly relatedTo: RelatedRequest };

/** A report of the client's roots. */
export interface RootsUpdated {
  readonly type: 'roots.updated';
  readonly report: RootsReport;
}

/** What the machine tells the session. */
export type RootsFact =
  | RootsUpdated
  /** The client is to be asked. */
  | { readonly type: 'roots.due' };

/** What a state means outside the machine. */
export const rootsTags = [
  /** The client has been asked and has not answered. */
  'asking',
  /** Its list has changed since: it will be asked again. */
  'overtaken',
  /** The roots are up to date as far as the client has said. */
  'settled',
  /** The client has no stream of its own: the next call that needs its roots asks for them. */
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

/**
 * The report for a client without the roots capability: it is never asked, and needs no machine.
 */
export const undeclaredRoots: RootsReport = {
  status: 'undeclared',
  generation: 1,
  settled: true,
  roots: [],
};

/** What is published: an outcome, or the reason for a failure. */
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
        'Before the session is initialized: a change asks nothing, the first query covers it.',
      on: { 'roots.ask': 'querying', 'roots.defer': 'deferred' },
    },
    due: {
      description: 'The client is to be asked. The session says whether it can be asked by itself.',
      tags: 'asking',
      entry: 'tellDue',
      on: { 'roots.ask': 'querying', 'roots.defer': 'deferred' },
    },
    deferred: {
      description:
        'The client has no stream of its own: it is asked with the next call that needs its roots.',
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
            'The first answer could not be read. A second such answer counts as a failure.',
          on: { 'roots.invalidate': 'stale' },
        },
        stale: {
          description:
            'The list changed after the query went out: its answer is old. Ask once more.',
          tags: 'overtaken',
        },
      },
    },
    known: { tags: 'settled', on: { 'roots.invalidate': 'due' } },
    unsupported: {
      description: 'The client answered -32601: it is not asked again.',
      tags: 'settled',
    },
    retrying: {
      description:
        'The query timed out or failed: ask when the list changes, when its own stream opens, or after a while.',
      tags: 'settled',
      on: {
        'roots.invalidate': 'due',
        'roots.ask': 'querying',
      },
      after: { retryTimeout: 'due' },
    },
  },
});
