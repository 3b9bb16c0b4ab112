/**
 * The way to a receiver that may be absent, come later and go away: it is tried again and again, and nothing is kept for it meanwhile, because
 * whoever comes is told of the present first. Another user's receiver is sent nothing.
 */
import { emit, fromCallback, sendTo, setup } from 'xstate';
import type { CallbackActorLogic } from 'xstate';

/** What the machine takes. */
export type ReceiverEvent =
  /** The receiver is this user's own. */
  | { readonly type: 'socket.opened' }
  /** It is open, and the system does not tell whose the receiver is. */
  | { readonly type: 'socket.openedUnproven' }
  /** The receiver is another user's. */
  | { readonly type: 'socket.refused'; readonly uid: number }
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
  /** Nobody can tell whose it is. What is sent is sent all the same. */
  | { readonly type: 'receiver.unproven' }
  /** It is another user's: nothing is sent to it. */
  | { readonly type: 'receiver.refused'; readonly uid: number }
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
        connecting: {
          on: {
            'socket.opened': 'open',
            'socket.openedUnproven': {
              target: 'open',
              actions: emit({ type: 'receiver.unproven' }),
            },
            'socket.refused': {
              target: '#receiver.waiting',
              actions: emit(({ event }) => ({ type: 'receiver.refused', uid: event.uid })),
            },
            'receiver.close': '#receiver.closed',
          },
        },
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
