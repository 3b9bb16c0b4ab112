/**
 * The slot of one server among many: whether the configuration lets it run, whether it was asked
 * for, and whether it has a connection. The connection has a chart of its own.
 */
import { assign, setup } from 'xstate';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

export interface ServerSlotInput extends InputScope {
  /**
   * `waiting`: it starts when its turn comes; `idle`: it starts with its first use. `disabled`: the
   * configuration disables it; `faulty`: its entry cannot be used.
   */
  readonly begins: 'waiting' | 'idle' | 'disabled' | 'faulty';
}

export type ServerSlotEvent =
  /** Its turn to start has come, or its host wants a connection. */
  | { readonly type: 'server.use' }
  | { readonly type: 'connection.opened' }
  /** The connection could not even be tried. */
  | { readonly type: 'connection.refused'; readonly error: Error }
  /** The connection was idle for too long, or its host has closed it. */
  | { readonly type: 'connection.closed' }
  /** Its host no longer wants it, or the configuration has changed. */
  | { readonly type: 'server.close' };

export interface ServerSlotContext {
  readonly begins: ServerSlotInput['begins'];
  /** Why there is no connection. */
  readonly error: Error | undefined;
}

export const serverSlotMachine = setup({
  types: {
    input: {} as ServerSlotInput,
    context: {} as ServerSlotContext,
    events: {} as ServerSlotEvent,
  },
  guards: {
    isDisabled: ({ context }) => context.begins === 'disabled',
    isFaulty: ({ context }) => context.begins === 'faulty',
    isLazy: ({ context }) => context.begins === 'idle',
  },
  actions: { keepError: assign({ error: (_, { error }: { readonly error: Error }) => error }) },
}).createMachine({
  id: 'slot',
  context: ({ input: { begins } }) => ({ begins, error: undefined }),
  initial: 'configured',
  on: { 'server.close': '.closed' },
  states: {
    configured: {
      always: [
        { guard: 'isDisabled', target: 'disabled' },
        { guard: 'isFaulty', target: 'faulty' },
        { guard: 'isLazy', target: 'idle' },
        { target: 'waiting' },
      ],
    },
    disabled: { description: 'The configuration says that it must not run.' },
    faulty: { description: 'Its entry in the configuration cannot be used.' },
    idle: {
      description: 'Nothing runs. Its next use starts it.',
      on: { 'server.use': 'opening' },
    },
    waiting: {
      description: 'It is to be started, and others start before it.',
      on: { 'server.use': 'opening' },
    },
    opening: {
      description: 'The connection is opened as soon as what ran before has ended.',
      on: {
        'connection.opened': 'open',
        'connection.refused': {
          target: 'refused',
          actions: { type: 'keepError', params: ({ event }) => event },
        },
      },
    },
    open: {
      description: 'There is a connection. It knows where the server stands.',
      on: { 'connection.closed': 'idle' },
    },
    refused: { description: 'No connection could be made from its entry and the options.' },
    closed: { description: 'It is closed for good.', type: 'final' },
  },
});
