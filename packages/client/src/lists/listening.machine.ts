/**
 * A long-lived subscription since 2026-07-28: consecutive `subscriptions/listen` requests, while
 * there are listeners, reopened after each cut. The server does not repeat missed events, so
 * listeners fetch again once it is open.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { assign, emit, fromPromise, setup } from 'xstate';
import type { ErrorActorEvent, PromiseActorLogic } from 'xstate';
import { ErrorCode, remoteCodeOf } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

export interface ListeningInput extends InputScope {
  /** The `notifications` of the request. */
  readonly filter: JsonObject;
  /** Delay before the first retry, ms; doubled each time, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Random delay after system sleep, ms. Default: none. */
  readonly scatterMs?: () => number;
}

/** Events of a subscription. */
export type ListeningEvent =
  /** The server accepted this part of the filter. */
  | { readonly type: 'subscription.acknowledged'; readonly filter: JsonObject }
  /** The computer slept, so the server may have dropped the request. */
  | { readonly type: 'subscription.outslept' };

/** Emitted events of a subscription. */
export type ListeningEmitted =
  | { readonly type: 'listening.opened'; readonly filter: JsonObject }
  /** The request ended or failed; it will be retried. */
  | { readonly type: 'listening.cut'; readonly error?: unknown }
  /** The server does not know the method: no notifications will arrive. */
  | { readonly type: 'listening.refused'; readonly error: unknown };

export interface ListeningContext extends ListeningInput {
  /** Consecutive cuts since the subscription was last stable. */
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
    /** Time it must stay open before its cuts are forgotten. */
    stableTimeout: ({ context }) => context.maxRetryMs,
    /** Prevents all subscriptions from reopening at once. */
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
      description: 'The request is open; a response ends it.',
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
          description: 'Waiting for the acknowledgment.',
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
      description: 'After sleep, subscriptions reopen with random delays.',
      after: { scatterTimeout: 'asked' },
    },
    refused: { description: 'The server does not support subscriptions: no retries.' },
  },
});
