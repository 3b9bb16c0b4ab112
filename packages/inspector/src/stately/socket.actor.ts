/** One WebSocket to the receiver. */
import { fromCallback } from 'xstate';
import type { CallbackActorLogic } from 'xstate';
import { ownerOfPeer } from './peer-owner.ts';
import type { PeerOwner, Ports } from './peer-owner.ts';
import type { ReceiverEvent, SocketCommand } from './receiver.machine.ts';

/** What we use of the `ws` package. */
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
  /** Bytes sent that the operating system has not taken yet. */
  readonly bufferedAmount: number;
  on(event: 'upgrade', listener: (response: { readonly socket: Stream }) => void): unknown;
  on(event: 'open' | 'close' | 'error', listener: () => void): unknown;
  send(text: string): void;
  close(): void;
  terminate(): void;
}

/** The TCP socket below: it knows its ports, and may keep the process alive. */
interface Stream extends Ports {
  ref(): unknown;
  unref(): unknown;
}

/** A receiver that does not read is disconnected: when it is back, it is sent the present state. */
const maxBufferedBytes = 4 * 1024 ** 2;
const handshakeTimeoutMs = 5000;
/** A receiver has no reason to send anything. */
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
      // An observer must not keep the process alive.
      stream.unref();
    });
    socket.on('open', () => {
      void ownerOfPeer(stream ?? {}).then((owner) => tell(openedBy(owner)));
    });
    // `close` always follows; an absent receiver is not a failure.
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

/** Once the connection is open, the receiver's owner decides whether it is used. */
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
