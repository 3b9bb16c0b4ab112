/**
 * State of one server among many: enabled by the configuration, requested, connected. The
 * connection has a chart of its own.
 */
import { assign, setup } from 'xstate';
import type { InputScope } from '../../../../src/machines/peer-ports.ts';

export interface ServerSlotInput extends InputScope {
  /**
   * `waiting`: queued to start; `idle`: starts at its first use. `disabled`: by the configuration;
   * `faulty`: invalid entry.
   */
  readonly begins: 'waiting' | 'idle' | 'disabled' | 'faulty';
}

export type ServerSlotEvent =
  /** The server's start slot is free, or the host wants a connection. */
  | { readonly type: 'server.use' }
  | { readonly type: 'connection.opened' }
  /** The connection could not even be attempted. */
  | { readonly type: 'connection.refused'; readonly error: Error }
  /** The connection was idle for too long, or the host closed it. */
  | { readonly type: 'connection.closed' }
  /** The host no longer needs the server, or the configuration changed. */
  | { readonly type: 'server.close' };

export interface ServerSlotContext {
  readonly begins: ServerSlotInput['begins'];
  /** Reason for having no connection. */
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
    disabled: { description: 'Disabled by the configuration.' },
    faulty: { description: 'The entry in the configuration is invalid.' },
    idle: {
      description: 'Not running; the next use starts the server.',
      on: { 'server.use': 'opening' },
    },
    waiting: {
      description: 'Queued to start.',
      on: { 'server.use': 'opening' },
    },
    opening: {
      description: 'Opening the connection, after the previous one has ended.',
      on: {
        'connection.opened': 'open',
        'connection.refused': {
          target: 'refused',
          actions: { type: 'keepError', params: ({ event }) => event },
        },
      },
    },
    open: {
      description: 'The connection has a chart of its own.',
      on: { 'connection.closed': 'idle' },
    },
    refused: { description: 'The entry and options allow no connection.' },
    closed: { description: 'Closed for good.', type: 'final' },
  },
});
