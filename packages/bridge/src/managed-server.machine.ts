/**
 * Availability of one server of a bridge for one client. A failed server does not block the others and is retried, so
 * a late or recovered server becomes available.
 *
 * Ordinary messages bypass the machine. The actor `open` must be provided: it connects the client to the server.
 */
import { assign, fromPromise, setup } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { InputScope } from '../../../src/machines/peer-ports.ts';

/** Retry delays for an unreachable server. */
export interface RetryTimes {
  /** Delay after the first failure, milliseconds; doubles with each further failure. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

export interface ManagedServerInput extends InputScope {
  readonly times: RetryTimes;
  /** Current clock time, milliseconds. */
  readonly now: () => number;
}

export type ManagedServerEvent =
  | { readonly type: 'connection.ready' }
  /** The connection reconnects by itself. */
  | { readonly type: 'connection.lost'; readonly error: Error }
  /** The connection does not reconnect by itself. */
  | { readonly type: 'connection.failed'; readonly error: Error }
  /** The client is idle, and another one needs the process slot. */
  | { readonly type: 'server.suspend' }
  /** The client needs the suspended server again. */
  | { readonly type: 'server.activate' }
  /** The client has disconnected, or the server was removed. */
  | { readonly type: 'server.close' };

export interface ManagedServerContext extends ManagedServerInput {
  /** Why the server is unavailable; undefined while it is available or first opening. */
  readonly error: Error | undefined;
  /** Consecutive failures. */
  readonly failures: number;
  /** Time of the last change of availability, clock milliseconds. */
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
    /** False if a person must log in or fix the configuration: a retry would prompt them again. */
    isRetryable: ({ context: { error } }) =>
      !(error instanceof RuntimeError && needsPerson.has(error.code)),
  },
  actions: {
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
      description: 'Connecting the client to the server.',
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
      description: 'The connection was lost and reconnects.',
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
      description: 'The server is unreachable. It is retried after a delay.',
      on: { 'server.suspend': { target: 'resting', actions: 'recovered' } },
      after: { retryTimeout: { guard: 'isRetryable', target: 'opening' } },
    },
    resting: {
      description: 'The idle process was closed to free its slot. The next request opens it again.',
      on: { 'server.activate': 'waking' },
    },
    waking: {
      description: 'Reconnecting after a suspension. The lists that the client knows stay valid.',
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
    closed: { description: 'The server is closed for this client.', type: 'final' },
  },
});
