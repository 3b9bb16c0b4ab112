/**
 * When the client is asked for its roots.
 *
 * A client is asked as soon as there is something to ask, if it has a channel of its own to be
 * asked on. One that only sends requests and reads their answers has none, as over HTTP without a
 * GET stream: it is asked on the stream of the call that needs the roots (`roots.wanted`), and the
 * answer serves everyone.
 *
 * `querying.stale` is the answer to re-entrancy: any number of changes during a query cost one more
 * query, and the last answer wins, because an answer that was overtaken is discarded. If answers
 * are overtaken again and again, every `maxOvertaken`-th is published as not settled, so that
 * nobody starves.
 *
 * The machine does not know how roots are asked for: `ask` is provided. Over a legacy session it
 * sends `roots/list`; another source of roots (a host, a multi round-trip result) is another `ask`.
 *
 * @see MCP 2025-11-25, client/roots
 */
import { and, assign, enqueueActions, fromPromise, setup, stateIn } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent, PromiseActorLogic } from 'xstate';
import { RuntimeError, textOfError } from '../protocol/errors.ts';
import type { RelatedRequest } from '../protocol/frames.ts';
import { rootsFailureOf } from './roots-report.ts';
import type { Root, RootsFailure, RootsReport } from './roots-report.ts';
import type { Ref } from './port.ts';
import type { Channel, ChannelFact, CorrelationEvent, SessionInputScope } from './session-ports.ts';

/**
 * What `ask` resolves with. It rejects if the client did not answer, or not with roots; the error's
 * message says why.
 */
export type AskOutcome =
  | { readonly kind: 'answered'; readonly roots: readonly Root[] }
  | {
      readonly kind: 'unsupported';
      readonly problem: string;
      readonly failure?: RootsFailure;
    };

export interface AskInput extends SessionInputScope {
  /** The correlation actor of the session. */
  readonly correlation: Ref<CorrelationEvent>;
  /** How long the answer may take, milliseconds. */
  readonly timeoutMs: number;
  /** The client's request on whose behalf it is asked; undefined if it is asked for the session. */
  readonly relatedTo?: RelatedRequest | undefined;
}

export interface RootsInput extends Omit<AskInput, 'relatedTo'> {
  /** Whether the client can be asked by itself; `open` by default. */
  readonly channel?: Channel;
  /** Gets `roots.updated`. */
  readonly session: Ref<RootsUpdated>;
  /**
   * Delay before asking again after a failure, milliseconds; doubled with each failure, up to ten
   * times.
   */
  readonly retryMs: number;
  /** How many overtaken answers are discarded before one is published as not settled. */
  readonly maxOvertaken: number;
}

/** What the machine takes. */
export type RootsEvent =
  | ChannelFact
  /** The session is initialized: the client may be asked. */
  | { readonly type: 'roots.start' }
  /** The client says that its list has changed. */
  | { readonly type: 'roots.invalidate' }
  /** A call waits for the roots: if the client is not being asked, it is asked on its behalf. */
  | { readonly type: 'roots.wanted'; readonly relatedTo: RelatedRequest }
  /** That call was cancelled: what was asked on its behalf is nobody's to answer any more. */
  | { readonly type: 'roots.abandoned'; readonly relatedTo: RelatedRequest };

/** What the machine tells the session. */
export interface RootsUpdated {
  readonly type: 'roots.updated';
  readonly report: RootsReport;
}

/** What a state means to those outside of the machine. */
export const rootsTags = [
  /** The client has been asked and has not answered. */
  'asking',
  /** Its list has changed since: it will be asked again. */
  'overtaken',
  /** What is known is the latest, as far as the client has told. */
  'settled',
  /** It has no channel of its own: the next call that needs its roots asks for them. */
  'deferred',
] as const;

export type RootsTag = (typeof rootsTags)[number];

export interface RootsContext extends AskInput, RootsInput {
  readonly channel: Channel;
  readonly report: RootsReport | undefined;
  /** Answers discarded since the last publication. */
  readonly overtaken: number;
  /** The last of them: newer than what was published, should no better one come. */
  readonly discarded: readonly Root[] | undefined;
  /** Failures since the last answer. */
  readonly failures: number;
}

const unprovided: PromiseActorLogic<AskOutcome, AskInput> = fromPromise(() =>
  Promise.reject(
    new Error('rootsMachine needs an "ask" actor: rootsMachine.provide({ actors: { ask } })'),
  ),
);

/** The report on a client that has no roots capability: it is never asked, and needs no machine. */
export const undeclaredRoots: RootsReport = {
  status: 'undeclared',
  generation: 1,
  settled: true,
  roots: [],
};

/** What is published: an outcome, or why there is none. */
export interface Finding {
  readonly outcome:
    | AskOutcome
    | { readonly kind: 'failed'; readonly problem: string; readonly failure: RootsFailure };
  readonly settled: boolean;
}

function nextReport({ report: previous, discarded }: RootsContext, finding: Finding): RootsReport {
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

const outcomeOf = ({ event }: { event: DoneActorEvent<AskOutcome> }) => ({
  outcome: event.output,
});
const settledOutcome = ({ event }: { event: DoneActorEvent<AskOutcome> }) => ({
  outcome: event.output,
  settled: true,
});

const overtakenOutcome = ({ event }: { event: DoneActorEvent<AskOutcome> }) => ({
  outcome: event.output,
  settled: false,
});
const settledFailure = ({ event }: { event: ErrorActorEvent }) => ({
  outcome: failureOf(event.error),
  settled: true,
});
const overtakenFailure = ({ event }: { event: ErrorActorEvent }) => ({
  outcome: failureOf(event.error),
  settled: false,
});

function failureOf(error: unknown): Finding['outcome'] {
  const problem = textOfError(error instanceof Error ? error.message : error);
  return { kind: 'failed', problem, failure: rootsFailureOf(error) };
}

/** There is something to ask: now, or on behalf of the next call that needs it. */
const nextQuery = [{ guard: 'hasChannel', target: 'querying' }, { target: 'deferred' }] as const;

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
    hasChannel: ({ context }) => context.channel === 'open',
    hasAsker: ({ context }) => context.relatedTo !== undefined,
    isAsker: ({ context, event }) =>
      event.type === 'roots.abandoned' && event.relatedTo === context.relatedTo,
    isStale: stateIn({ querying: 'stale' }),
    mayDiscard: ({ context }) => context.overtaken < context.maxOvertaken,
    isFirst: stateIn({ querying: 'fresh' }),
    isGarbled: ({ event }) => {
      const { error } = event as { readonly error?: unknown };
      return error instanceof RuntimeError && error.code === 'INVALID_RESPONSE';
    },
    isUnsupported: (_, { outcome }: Pick<Finding, 'outcome'>) => outcome.kind === 'unsupported',
  },
  delays: {
    retryTimeout: ({ context }) => context.retryMs * Math.min(2 ** (context.failures - 1), 10),
  },
  actions: {
    openChannel: assign({ channel: 'open' }),
    closeChannel: assign({ channel: 'none' }),
    askFor: assign((_, { relatedTo }: { readonly relatedTo: RelatedRequest | undefined }) => ({
      relatedTo,
    })),
    discard: assign({
      relatedTo: undefined,
      overtaken: ({ context }) => context.overtaken + 1,
      discarded: (_, { outcome }: Pick<Finding, 'outcome'>) =>
        outcome.kind === 'answered' ? outcome.roots : undefined,
    }),
    publish: enqueueActions(({ context, enqueue }, finding: Finding) => {
      const report = nextReport(context, finding);
      const failures = report.status === 'failed' ? context.failures + 1 : 0;
      enqueue.assign({
        report,
        overtaken: 0,
        discarded: undefined,
        failures,
        relatedTo: undefined,
      });
      enqueue.sendTo(context.session, { type: 'roots.updated', report } satisfies RootsUpdated);
    }),
  },
}).createMachine({
  id: 'roots',
  context: ({ input: { channel = 'open', ...input } }) => ({
    channel,
    relatedTo: undefined,
    report: undefined,
    overtaken: 0,
    discarded: undefined,
    failures: 0,
    ...input,
  }),
  initial: 'unasked',
  on: {
    'channel.opened': { actions: 'openChannel' },
    'channel.closed': { actions: 'closeChannel' },
  },
  states: {
    unasked: {
      description:
        'Before the session is initialized: a change asks nothing, the first query covers it.',
      on: { 'roots.start': nextQuery },
    },
    deferred: {
      description:
        'The client has no channel of its own: it is asked with the next call that needs its roots.',
      tags: 'deferred',
      on: {
        'channel.opened': { target: 'querying', actions: 'openChannel' },
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
            guard: { type: 'isUnsupported', params: outcomeOf },
            target: 'unsupported',
            actions: { type: 'publish', params: settledOutcome },
          },
          {
            guard: and(['isStale', 'mayDiscard', 'hasChannel']),
            target: 'querying',
            reenter: true,
            actions: { type: 'discard', params: outcomeOf },
          },
          {
            guard: and(['isStale', 'mayDiscard']),
            target: 'deferred',
            actions: { type: 'discard', params: outcomeOf },
          },
          {
            guard: and(['isStale', 'hasChannel']),
            target: 'querying',
            reenter: true,
            actions: { type: 'publish', params: overtakenOutcome },
          },
          {
            guard: 'isStale',
            target: 'deferred',
            actions: { type: 'publish', params: overtakenOutcome },
          },
          { target: 'known', actions: { type: 'publish', params: settledOutcome } },
        ],
        onError: [
          {
            guard: and(['isStale', 'hasChannel']),
            target: 'querying',
            reenter: true,
            actions: { type: 'publish', params: overtakenFailure },
          },
          {
            guard: 'isStale',
            target: 'deferred',
            actions: { type: 'publish', params: overtakenFailure },
          },
          {
            guard: and(['isFirst', 'isGarbled']),
            target: '#roots.querying.repeated',
            reenter: true,
          },
          { target: 'retrying', actions: { type: 'publish', params: settledFailure } },
        ],
      },
      on: {
        'roots.abandoned': [
          {
            guard: and(['isAsker', 'hasChannel']),
            target: 'querying',
            reenter: true,
            actions: { type: 'askFor', params: { relatedTo: undefined } },
          },
          {
            guard: 'isAsker',
            target: 'deferred',
            actions: { type: 'askFor', params: { relatedTo: undefined } },
          },
        ],
        'channel.closed': [
          { guard: 'hasAsker', actions: 'closeChannel' },
          { target: 'deferred', actions: 'closeChannel' },
        ],
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
    known: { tags: 'settled', on: { 'roots.invalidate': nextQuery } },
    unsupported: {
      description: 'The client answered -32601: it is not asked again.',
      tags: 'settled',
    },
    retrying: {
      description:
        'The query timed out or failed: ask when the list changes, when a channel opens, or after a while.',
      tags: 'settled',
      on: {
        'roots.invalidate': nextQuery,
        'channel.opened': { target: 'querying', actions: 'openChannel' },
      },
      after: { retryTimeout: nextQuery },
    },
  },
});
