/**
 * A connection whose client has no channel of its own, as over HTTP without a GET stream, or one
 * that the test opens and closes. Records on which request's stream each of the session's requests
 * travels.
 */
import { memory } from 'mcp-actors';
import type { MemoryPeer, Transport } from 'mcp-actors';
import type { Port } from '../../src/machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../src/machines/peer-ports.ts';
import type { InboundFrame, RequestId } from '../../src/protocol/frames.ts';

/** A client's own channel: over HTTP its GET stream. */
export interface Channel {
  openChannel(): void;
  closeChannel(): void;
  /**
   * Ids of the requests whose streams carried messages of this method; undefined for the channel.
   */
  relatedTo(method: string): readonly (RequestId | undefined)[];
}

export interface ChannelWire extends Channel {
  readonly transport: Transport;
  readonly peer: MemoryPeer;
  /** Reports to the session whether its client is reading. */
  flow(is: 'blocked' | 'flowing'): void;
}

/** @param unaskable ids of requests whose streams cannot carry requests */
export function withoutChannel(unaskable: readonly unknown[] = []): ChannelWire {
  const { transport, peer } = memory();
  const sent: { readonly method: string; readonly relatedTo: RequestId | undefined }[] = [];
  let tell: (fact: TransportFact) => void = () => {};
  return {
    transport: (options) => {
      const ends = transport(options);
      const reader = ends.reader as Port<ReaderEvent, ReaderInput>;
      const writer = ends.writer as Port<WriterEvent, WriterInput>;
      const marking: typeof reader = {
        ...reader,
        getInitialSnapshot: (scope, { router, ...input }) => {
          const send: typeof router.send = (event) =>
            router.send(
              event.type === 'frames.received'
                ? { ...event, frames: event.frames.map((frame) => marked(frame, unaskable)) }
                : event,
            );
          return reader.getInitialSnapshot(scope, { ...input, router: { send } });
        },
      };
      const noting: typeof writer = {
        ...writer,
        start: (snapshot, scope) => {
          writer.start?.(snapshot, scope);
          const { owner } = snapshot.input;
          tell = (fact) => owner.send(fact);
          tell({ type: 'standaloneStream.closed' });
        },
        transition: (snapshot, event, scope) => {
          if (event.type === 'frames.send') {
            const relatedTo = event.relatedTo?.id;
            for (const frame of event.frames) {
              if ('method' in frame) sent.push({ method: frame.method, relatedTo });
            }
          }
          return writer.transition(snapshot, event, scope);
        },
      };
      return { reader: marking, writer: noting };
    },
    peer,
    openChannel: () => tell({ type: 'standaloneStream.opened' }),
    closeChannel: () => tell({ type: 'standaloneStream.closed' }),
    flow: (is) => tell({ type: `output.${is}` }),
    relatedTo: (method) =>
      sent.filter((message) => message.method === method).map(({ relatedTo }) => relatedTo),
  };
}

function marked(frame: InboundFrame, unaskable: readonly unknown[]): InboundFrame {
  if (frame.kind !== 'request' || !unaskable.includes(frame.id)) return frame;
  return { ...frame, origin: { idScope: 'session', noRequestsReason: 'it is answered in JSON' } };
}
