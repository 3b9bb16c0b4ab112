/**
 * A subscription that a host keeps open since 2026-07-28: one `subscriptions/listen` after the
 * other, while there are listeners. After a cut it is opened anew. The server does not repeat what
 * happened meanwhile, so the listeners ask again once it is open.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { assign, emit, fromPromise, setup } from 'xstate';
import type { ErrorActorEvent, PromiseActorLogic } from 'xstate';
import { ErrorCode, remoteCodeOf } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

export interface ListeningInput extends InputScope {
  /** What to subscribe to: the `notifications` of the request. */
  readonly filter: JsonObject;
  /** Delay before the first new request, milliseconds; doubled with each, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** How long to wait after a sleep, milliseconds; not at all by default. */
  readonly scatterMs?: () => number;
}

/** What the machine takes. */
export type ListeningEvent =
  /** The server has accepted the subscription, for this part of the filter. */
  | { readonly type: 'subscription.acknowledged'; readonly filter: JsonObject }
  /** The computer has slept, so that the server may have given the request up. */
  | { readonly type: 'subscription.outslept' };

/** What the machine emits. */
export type ListeningEmitted =
  | { readonly type: 'listening.opened'; readonly filter: JsonObject }
  /** The request has ended, or failed; it is sent again after a while. */
  | { readonly type: 'listening.cut'; readonly error?: unknown }
  /** The server does not know the method: no notifications will come. */
  | { readonly type: 'listening.refused'; readonly error: unknown };

export interface ListeningContext extends ListeningInput {
  /** Requests that have ended since one was open for a while. */
  readonly cuts: number;
}

const unprovided: PromiseActorLogic<void, ListeningInput> = fromPromise(() =>
  Promise.reject(
    new Error(
      'listeningMachine needs a "listen" actor: listeningMachine.provide({ actors: { listen } })',
    ),
  ),
);

const errorOf = ({ event }: { event: ErrorActorEvent }) => ({ error: event.error });

/** One subscription on one channel. */
export const listeningMachine = setup({
  types: {
    input: {} as ListeningInput,
    context: {} as ListeningContext,
    events: {} as ListeningEvent,
    emitted: {} as ListeningEmitted,
  },
  actors: { listen: unprovided },
  guards: {
    isRefusal: (_, { error }: { readonly error: unknown }) =>
      remoteCodeOf(error) === ErrorCode.methodNotFound,
  },
  delays: {
    /** How long it must have been open before its cuts are forgotten. */
    stableTimeout: ({ context }) => context.maxRetryMs,
    /** So that not all are opened anew at once. */
    scatterTimeout: ({ context }) => context.scatterMs?.() ?? 0,
    retryTimeout: ({ context }) =>
      Math.min(context.maxRetryMs, context.retryMs * 2 ** Math.min(context.cuts - 1, 30)),
  },
  actions: {
    tellOpened: emit((_, { filter }: { readonly filter: JsonObject }) => ({
      type: 'listening.opened',
      filter,
    })),
    tellCut: emit((_, { error }: { readonly error?: unknown }) => ({
      type: 'listening.cut',
      error,
    })),
    tellRefused: emit((_, { error }: { readonly error: unknown }) => ({
      type: 'listening.refused',
      error,
    })),
    countCut: assign({ cuts: ({ context }) => context.cuts + 1 }),
    forgetCuts: assign({ cuts: 0 }),
  },
}).createMachine({
  id: 'listening',
  context: ({ input }) => ({ ...input, cuts: 0 }),
  initial: 'asked',
  states: {
    asked: {
      description: 'The request lives, and its answer would be its end.',
      invoke: {
        id: 'listen',
        src: 'listen',
        input: ({ context }) => context,
        onDone: { target: 'waiting', actions: ['countCut', { type: 'tellCut', params: {} }] },
        onError: [
          {
            guard: { type: 'isRefusal', params: errorOf },
            target: 'refused',
            actions: { type: 'tellRefused', params: errorOf },
          },
          { target: 'waiting', actions: ['countCut', { type: 'tellCut', params: errorOf }] },
        ],
      },
      on: { 'subscription.outslept': { target: 'scattered', actions: 'forgetCuts' } },
      initial: 'opening',
      states: {
        opening: {
          description: 'Nothing is told before the acknowledgment.',
          on: {
            'subscription.acknowledged': {
              target: 'open',
              actions: { type: 'tellOpened', params: ({ event }) => event },
            },
          },
        },
        open: { after: { stableTimeout: { actions: 'forgetCuts' } } },
      },
    },
    waiting: { after: { retryTimeout: 'asked' } },
    scattered: {
      description:
        'All subscriptions of a computer that has slept are opened anew, but not all at once.',
      after: { scatterTimeout: 'asked' },
    },
    refused: { description: 'The server does not know such a request: it is not asked again.' },
  },
});
