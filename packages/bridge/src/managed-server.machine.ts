/**
 * One of the servers that a bridge has for one client: whether the client can use it, and since
 * when not. It does not hold the others up, and it is tried again: a server that comes late, or
 * comes back, is used from then on.
 *
 * Ordinary messages never come here. `open` is provided: it connects the client to the server.
 */
import { assign, fromPromise, setup } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { InputScope } from '../../../src/machines/peer-ports.ts';

/** How long until a server that could not be reached is tried again. */
export interface RetryTimes {
  /** After the first failure, milliseconds; doubled with each. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

/** What a member begins with. */
export interface ManagedServerInput extends InputScope {
  readonly times: RetryTimes;
  /** The clock's milliseconds. */
  readonly now: () => number;
}

/** What a member takes. */
export type ManagedServerEvent =
  | { readonly type: 'connection.ready' }
  /** It is opened again, by its own policy. */
  | { readonly type: 'connection.lost'; readonly error: Error }
  /** It is not opened again by itself. */
  | { readonly type: 'connection.failed'; readonly error: Error }
  /** The client asks nothing at the moment, and another one needs the place of its process. */
  | { readonly type: 'server.suspend' }
  /** The client needs it again. */
  | { readonly type: 'server.activate' }
  /** The client has gone, or the server is no longer wanted. */
  | { readonly type: 'server.close' };

export interface ManagedServerContext extends ManagedServerInput {
  /** Why it cannot be used; undefined while it can, and until the first attempt has failed. */
  readonly error: Error | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** When it was last found to be usable, or to be no longer, the clock's milliseconds. */
  readonly since: number;
}

const unprovided: PromiseActorLogic<void, InputScope> = fromPromise(() =>
  Promise.reject(
    new Error(
      'managedServerMachine needs an "open" actor: managedServerMachine.provide({ actors: { open } })',
    ),
  ),
);

const needsPerson: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'CONFIG_INVALID']);

const errorIn = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** One server among those of one client. */
export const managedServerMachine = setup({
  types: {
    input: {} as ManagedServerInput,
    context: {} as ManagedServerContext,
    events: {} as ManagedServerEvent,
  },
  actors: { open: unprovided },
  delays: {
    retryTimeout: ({ context: { times, failures } }) =>
      Math.min(times.maxRetryMs, times.retryMs * 2 ** Math.min(31, Math.max(0, failures - 1))),
  },
  guards: {
    /** A person has to log in, or to change the configuration: trying again would ask them again. */
    isRetryable: ({ context: { error } }) =>
      !(error instanceof RuntimeError && needsPerson.has(error.code)),
  },
  actions: {
    /** Nothing is wrong with it. */
    recovered: assign(({ context }) => ({ error: undefined, failures: 0, since: context.now() })),
    recordFailure: assign(({ context }, { error }: { readonly error: unknown }) => ({
      error: errorIn(error),
      failures: context.failures + 1,
      since: context.error ? context.since : context.now(),
    })),
  },
}).createMachine({
  id: 'managed-server',
  context: ({ input }) => ({ ...input, error: undefined, failures: 0, since: input.now() }),
  initial: 'opening',
  on: { 'server.close': '.closed' },
  states: {
    opening: {
      description: 'The client is being connected to the server.',
      invoke: {
        src: 'open',
        input: ({ context: { scope } }) => ({ scope }),
        onDone: { target: 'ready', actions: 'recovered' },
        onError: {
          target: 'failed',
          actions: { type: 'recordFailure', params: ({ event: { error } }) => ({ error }) },
        },
      },
    },
    ready: {
      description: 'The client can use the server.',
      on: {
        'server.suspend': { target: 'resting', actions: 'recovered' },
        'connection.lost': {
          target: 'lost',
          actions: { type: 'recordFailure', params: ({ event: { error } }) => ({ error }) },
        },
        'connection.failed': {
          target: 'failed',
          actions: { type: 'recordFailure', params: ({ event: { error } }) => ({ error }) },
        },
      },
    },
    lost: {
      description: 'The connection has ended, and is being opened again.',
      on: {
        'server.suspend': { target: 'resting', actions: 'recovered' },
        'connection.ready': { target: 'ready', actions: 'recovered' },
        'connection.failed': {
          target: 'failed',
          actions: { type: 'recordFailure', params: ({ event: { error } }) => ({ error }) },
        },
      },
    },
    failed: {
      description: 'It could not be reached. It is tried again after a while.',
      on: { 'server.suspend': { target: 'resting', actions: 'recovered' } },
      after: { retryTimeout: { guard: 'isRetryable', target: 'opening' } },
    },
    resting: {
      description:
        'Its process has made room for that of another client. It is opened when it is needed.',
      on: { 'server.activate': 'waking' },
    },
    waking: {
      description:
        'It is connected again after it has rested. What the client knows of it still holds.',
      invoke: {
        src: 'open',
        input: ({ context: { scope } }) => ({ scope }),
        onDone: { target: 'ready', actions: 'recovered' },
        onError: {
          target: 'failed',
          actions: { type: 'recordFailure', params: ({ event: { error } }) => ({ error }) },
        },
      },
    },
    closed: { description: 'The client no longer has it.', type: 'final' },
  },
});
