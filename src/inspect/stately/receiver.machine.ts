/**
 * The way to a receiver that may be absent, come later and go away: it is tried again and again, and nothing is kept for it meanwhile, because
 * whoever comes is told of the present first.
 */
import { emit, fromCallback, sendTo, setup } from 'xstate';
import type { CallbackActorLogic } from 'xstate';

/** What the machine takes. */
export type ReceiverEvent =
  | { readonly type: 'socket.opened' }
  /** It could not be opened, or is open no more. */
  | { readonly type: 'socket.lost' }
  /** For the receiver; dropped while there is none. */
  | MessageSend
  | { readonly type: 'receiver.close' };

export interface MessageSend {
  readonly type: 'message.send';
  readonly text: string;
}

/** What a socket takes. */
export type SocketCommand =
  | MessageSend
  /** Close once everything that was sent is out, then say `socket.lost`. */
  | { readonly type: 'socket.close' };

export type ReceiverEmitted =
  | { readonly type: 'receiver.opened' }
  | { readonly type: 'receiver.lost' };

const unprovided: CallbackActorLogic<SocketCommand> = fromCallback(() => {
  throw new Error('receiverMachine needs a "socket" actor');
});

export const receiverMachine = setup({
  types: { events: {} as ReceiverEvent, emitted: {} as ReceiverEmitted },
  actors: { socket: unprovided },
  delays: {
    retryTimeout: 1000,
    /** How long a receiver may hold up the end of the process. */
    closeTimeout: 500,
  },
}).createMachine({
  id: 'receiver',
  initial: 'linked',
  states: {
    linked: {
      invoke: { id: 'socket', src: 'socket' },
      on: { 'socket.lost': 'waiting' },
      initial: 'connecting',
      states: {
        connecting: { on: { 'socket.opened': 'open', 'receiver.close': '#receiver.closed' } },
        open: {
          entry: emit({ type: 'receiver.opened' }),
          exit: emit({ type: 'receiver.lost' }),
          on: {
            'message.send': {
              actions: sendTo('socket', ({ event }): SocketCommand => event),
            },
            'receiver.close': 'closing',
          },
        },
        closing: {
          entry: sendTo('socket', { type: 'socket.close' }),
          on: { 'socket.lost': '#receiver.closed' },
          after: { closeTimeout: '#receiver.closed' },
        },
      },
    },
    waiting: {
      after: { retryTimeout: 'linked' },
      on: { 'receiver.close': 'closed' },
    },
    closed: { type: 'final' },
  },
});
