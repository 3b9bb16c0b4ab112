/** Actor that owns one WebSocket to the receiver. */
import { fromCallback } from 'xstate';
import type { CallbackActorLogic } from 'xstate';
import { ownerOfPeer } from './peer-owner.ts';
import type { PeerOwner, Ports } from './peer-owner.ts';
import type { ReceiverEvent, SocketCommand } from './receiver.machine.ts';

/** Part of the `ws` package used here. */
export interface WebSocketClass {
  new (
    url: string,
    options: {
      readonly handshakeTimeout: number;
      readonly maxPayload: number;
      readonly perMessageDeflate: boolean;
    },
  ): WebSocketClient;
}

interface WebSocketClient {
  /** Bytes sent but not yet accepted by the operating system. */
  readonly bufferedAmount: number;
  on(event: 'upgrade', listener: (response: { readonly socket: Stream }) => void): unknown;
  on(event: 'open' | 'close' | 'error', listener: () => void): unknown;
  send(text: string): void;
  close(): void;
  terminate(): void;
}

/** The underlying TCP socket, for its ports and for keeping the process alive. */
interface Stream extends Ports {
  ref(): unknown;
  unref(): unknown;
}

/** A receiver that does not read is disconnected. On reconnecting it gets the current state. */
const maxBufferedBytes = 4 * 1024 ** 2;
const handshakeTimeoutMs = 5000;
/** Receivers have no reason to send anything. */
const maxPayload = 64 * 1024;

export function socketActor(
  Socket: WebSocketClass,
  url: string,
): CallbackActorLogic<SocketCommand> {
  return fromCallback<SocketCommand>(({ sendBack, receive }) => {
    const tell = (event: ReceiverEvent) => sendBack(event);
    let stream: Stream | undefined = undefined;
    const socket = new Socket(url, {
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload,
      perMessageDeflate: false,
    });
    socket.on('upgrade', (response) => {
      stream = response.socket;
      // Observing must not keep the process alive.
      stream.unref();
    });
    socket.on('open', () => {
      void ownerOfPeer(stream ?? {}).then((owner) => tell(openedBy(owner)));
    });
    // `close` always follows `error`, and an absent receiver is not a failure.
    socket.on('error', () => {});
    socket.on('close', () => tell({ type: 'socket.lost' }));
    receive((command) => {
      switch (command.type) {
        case 'message.send':
          if (socket.bufferedAmount > maxBufferedBytes) socket.terminate();
          else socket.send(command.text);
          break;
        case 'socket.close':
          stream?.ref();
          socket.close();
          break;
      }
    });
    return () => socket.terminate();
  });
}

/** Maps the receiver's owner to the event that allows, flags or refuses its use. */
function openedBy(owner: PeerOwner): ReceiverEvent {
  switch (owner.kind) {
    case 'same-user':
      return { type: 'socket.opened' };
    case 'unknown':
      return { type: 'socket.openedUnproven' };
    case 'other-user':
      return { type: 'socket.refused', uid: owner.uid };
  }
}
