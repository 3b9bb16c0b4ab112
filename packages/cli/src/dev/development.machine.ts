/** Lifecycle of a module in development: the serving code and the loading of newer code. */
import { assign, fromPromise, setup } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Code, CodeError } from './code.ts';

interface DevelopmentContext {
  /** The latest loadable code, which serves new requests. Undefined before the first load. */
  readonly code: Code | undefined;
  /** Reason why the latest source cannot serve; undefined if it serves. */
  readonly fault: Error | undefined;
}

type DevelopmentEvent =
  /** A loaded file has changed. */
  | { readonly type: 'source.changed' }
  /** The process of the serving code ended unexpectedly. */
  | { readonly type: 'code.lost'; readonly fault: Error }
  /** A client made a request after the code was lost. */
  | { readonly type: 'code.wanted' }
  | { readonly type: 'development.end' };

const developmentMachine = setup({
  types: {
    context: {} as DevelopmentContext,
    events: {} as DevelopmentEvent,
    tags: {} as 'loading',
  },
  actors: {
    loadingCode: fromPromise<Code>(() => Promise.reject(new Error('Nothing loads code here'))),
  },
}).createMachine({
  id: 'development',
  context: { code: undefined, fault: undefined },
  initial: 'loading',
  on: { 'development.end': '.ended' },
  states: {
    /** Loading the latest source. The previous code keeps serving. */
    loading: {
      tags: 'loading',
      invoke: {
        src: 'loadingCode',
        onDone: {
          target: 'serving',
          actions: assign({ code: ({ event }) => event.output, fault: undefined }),
        },
        onError: {
          target: 'failed',
          actions: assign({ fault: ({ event }) => event.error as CodeError }),
        },
      },
      on: {
        'source.changed': { target: 'loading', reenter: true },
        'code.lost': { actions: assign({ code: undefined }) },
      },
    },
    /** The latest source serves. */
    serving: {
      on: {
        'source.changed': 'loading',
        'code.lost': {
          target: 'lost',
          actions: assign({ code: undefined, fault: ({ event }) => event.fault }),
        },
      },
    },
    /** The latest source cannot be loaded. The previous code, if any, keeps serving. */
    failed: {
      on: {
        'source.changed': 'loading',
        'code.lost': { actions: assign({ code: undefined }) },
      },
    },
    /** The code ended unexpectedly and is reloaded only for the next call. */
    lost: { on: { 'source.changed': 'loading', 'code.wanted': 'loading' } },
    ended: { type: 'final' },
  },
});

/**
 * Creates the machine of one module.
 *
 * @param load loads the current code; its signal aborts when there is newer code
 */
export function developmentOf(load: (signal: AbortSignal) => Promise<Code>) {
  return developmentMachine.provide({
    actors: { loadingCode: fromPromise(({ signal }) => load(signal)) },
  });
}

export type DevelopmentRef = ActorRefFrom<typeof developmentMachine>;
