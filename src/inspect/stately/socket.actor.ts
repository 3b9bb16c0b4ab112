/** One WebSocket to the receiver. */
import { fromCallback } from 'xstate';
import type { CallbackActorLogic } from 'xstate';
import { ownerOfPeer } from './peer-owner.ts';
import type { PeerOwner, Ports } from './peer-owner.ts';
import type { ReceiverEvent, SocketCommand } from './receiver.machine.ts';

/** What is used of the `ws` package. */
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
  /** What was sent and is not with the operating system yet, bytes. */
  readonly bufferedAmount: number;
  on(event: 'upgrade', listener: (response: { readonly socket: Stream }) => void): unknown;
  on(event: 'open' | 'close' | 'error', listener: () => void): unknown;
  send(text: string): void;
  close(): void;
  terminate(): void;
}

/** Knows its ports, and may hold the process open. */
interface Stream extends Ports {
  ref(): unknown;
  unref(): unknown;
}

/** A receiver that does not read loses its connection: when it is back it is told of the present anyhow. */
const maxBufferedBytes = 4 * 1024 ** 2;
const handshakeTimeoutMs = 5000;
/** A receiver has nothing to say. */
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
      // Whoever only looks keeps no process alive.
      stream.unref();
    });
    socket.on('open', () => {
      void ownerOfPeer(stream ?? {}).then((owner) => tell(openedBy(owner)));
    });
    // Followed by `close` each time; an absent receiver is no failure.
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

/** Once the connection is open, it depends on the receiver's owner what it is good for. */
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
