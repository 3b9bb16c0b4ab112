/**
 * Connection to a receiver that may be absent, appear later, or disappear. Failed connections are
 * retried forever. Nothing is queued while disconnected, because a new connection starts with the
 * current state. A receiver of another user gets nothing.
 */
import { emit, fromCallback, sendTo, setup } from 'xstate';
import type { CallbackActorLogic } from 'xstate';

/** Events the machine accepts. */
export type ReceiverEvent =
  /** Connected; the receiver belongs to the current user. */
  | { readonly type: 'socket.opened' }
  /** Connected, but the system does not reveal the receiver's owner. */
  | { readonly type: 'socket.openedUnproven' }
  /** The receiver belongs to another user. */
  | { readonly type: 'socket.refused'; readonly uid: number }
  /** Connecting failed, or the connection closed. */
  | { readonly type: 'socket.lost' }
  /** Message for the receiver; dropped while disconnected. */
  | MessageSend
  | { readonly type: 'receiver.close' };

export interface MessageSend {
  readonly type: 'message.send';
  readonly text: string;
}

/** Commands a socket actor accepts. */
export type SocketCommand =
  | MessageSend
  /** Closes after everything is sent, then reports `socket.lost`. */
  | { readonly type: 'socket.close' };

export type ReceiverEmitted =
  | { readonly type: 'receiver.opened' }
  /** The receiver's owner is unknown. Messages are sent nevertheless. */
  | { readonly type: 'receiver.unproven' }
  /** The receiver belongs to another user and gets no messages. */
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
    /** Limits how long a slow receiver can delay process exit. */
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
