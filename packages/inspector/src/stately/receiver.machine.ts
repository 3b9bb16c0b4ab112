/**
 * The connection to a receiver that may be absent, come later and go away. It is tried again and
 * again. Nothing is queued meanwhile, because a receiver is sent the present state first. Another
 * user's receiver is sent nothing.
 */
import { emit, fromCallback, sendTo, setup } from 'xstate';
import type { CallbackActorLogic } from 'xstate';

/** What the machine takes. */
export type ReceiverEvent =
  /** The receiver belongs to this user. */
  | { readonly type: 'socket.opened' }
  /** The connection is open, but the system does not tell whose the receiver is. */
  | { readonly type: 'socket.openedUnproven' }
  /** The receiver belongs to another user. */
  | { readonly type: 'socket.refused'; readonly uid: number }
  /** The connection could not be opened, or has closed. */
  | { readonly type: 'socket.lost' }
  /** A message for the receiver; dropped while it is absent. */
  | MessageSend
  | { readonly type: 'receiver.close' };

export interface MessageSend {
  readonly type: 'message.send';
  readonly text: string;
}

/** What a socket takes. */
export type SocketCommand =
  | MessageSend
  /** Close once everything is sent, then report `socket.lost`. */
  | { readonly type: 'socket.close' };

export type ReceiverEmitted =
  | { readonly type: 'receiver.opened' }
  /** The system does not tell whose it is. It is sent the messages all the same. */
  | { readonly type: 'receiver.unproven' }
  /** It belongs to another user, and is sent nothing. */
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
    /** How long a receiver may delay the end of the process. */
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
