/** The phases of a module in development: which code serves, and what becomes of newer code. */
import { assign, fromPromise, setup } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Code, CodeError } from './code.ts';

interface DevelopmentContext {
  /** The newest code that could be loaded: it serves what comes. Undefined before there is any. */
  readonly code: Code | undefined;
  /** Why the newest code of all cannot serve; undefined if it does. */
  readonly fault: Error | undefined;
}

type DevelopmentEvent =
  /** A file is no longer what was loaded. */
  | { readonly type: 'source.changed' }
  /** The process of the code that serves has ended by itself. */
  | { readonly type: 'code.lost'; readonly fault: Error }
  /** A client wants something of code that was lost. */
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
    /** The newest source is being loaded; what served before it serves on. */
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
    /** The newest source serves. */
    serving: {
      on: {
        'source.changed': 'loading',
        'code.lost': {
          target: 'lost',
          actions: assign({ code: undefined, fault: ({ event }) => event.fault }),
        },
      },
    },
    /** The newest source cannot be loaded; what served before it, if anything did, serves on. */
    failed: {
      on: {
        'source.changed': 'loading',
        'code.lost': { actions: assign({ code: undefined }) },
      },
    },
    /** The code has ended by itself. It is loaded again for the next call, and not before. */
    lost: { on: { 'source.changed': 'loading', 'code.wanted': 'loading' } },
    ended: { type: 'final' },
  },
});

/**
 * The machine of one module.
 *
 * @param load loads the code as it is now. If the signal fires, there is newer code
 */
export function developmentOf(load: (signal: AbortSignal) => Promise<Code>) {
  return developmentMachine.provide({
    actors: { loadingCode: fromPromise(({ signal }) => load(signal)) },
  });
}

export type DevelopmentRef = ActorRefFrom<typeof developmentMachine>;
