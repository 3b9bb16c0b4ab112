/**
 * Reader, writer and channel of a replay. The reader delivers recorded input, the writer collects output; the channel is
 * passive.
 */
import type { ChannelEvent, ChannelInput } from '../../../client/src/channel/connection-ports.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Port, Recipient } from '../../../../src/machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../../../src/machines/peer-ports.ts';
import type { OutboundFrame } from '../../../../src/protocol/frames.ts';
import type { Transport } from '../../../../src/transports/transport.ts';
import type {
  ChannelLine,
  ClientLine,
  FramesLine,
  GoneLine,
  OutputLine,
  UnsentLine,
  ReturnedLine,
  TakenLine,
} from '../format.ts';
import { replayedError, writtenFrames } from '../lines.ts';
import { ReplayedOrigins } from '../origins.ts';

/** A sent frame, and the recipient of its delivery events. */
interface Sent extends Required<Pick<FramesToSend, 'reportTo'>> {
  readonly frame: OutboundFrame;
}

function isNamed(frame: OutboundFrame, method: string, id: unknown): boolean {
  return (
    'method' in frame && frame.method === method && ('id' in frame ? frame.id : undefined) === id
  );
}

/** Reader and writer of a replayed session. */
export interface ReplayEnds {
  readonly transport: Transport;
  /** Delivers input of the client. */
  receive(line: ClientLine | FramesLine): void;
  /** Reports that the client awaiting an answer has disconnected. */
  gone(line: GoneLine): void;
  /**
   * Reports a failed send to its sender.
   * @param id id of the request in this session
   * @returns false if the frame was never sent
   */
  unsent(line: UnsentLine, id?: unknown): boolean;
  /** Reports to the sender that a request may be resent. @returns false if the frame was never sent */
  returned(line: ReturnedLine): boolean;
  /** Reports to the sender that the transport has accepted a frame. @returns false if the sender does not wait */
  taken(line: TakenLine): boolean;
  /** Sends the session an event of its reader or writer. */
  tell(fact: TransportFact): void;
}

export function replayEnds(options: {
  /** Called with each frame in its form on the wire. */
  said(frame: unknown): void;
  /** Called when the session flushes its output. */
  flush?(): void;
  /** Called after each event of the writer. */
  afterwards?(): void;
}): ReplayEnds {
  let router: Recipient<RouterEvent> | undefined = undefined;
  let owner: Recipient<TransportFact> | undefined = undefined;
  const origins = new ReplayedOrigins();
  const sent: Sent[] = [];
  const awaited: (() => void)[] = [];
  const find = (method: string, id: unknown): Sent | undefined => {
    const at = sent.findLastIndex(({ frame }) => isNamed(frame, method, id));
    return at === -1 ? undefined : sent.splice(at, 1)[0];
  };
  return {
    transport: () => ({
      reader: plainActor<ReaderEvent, ReaderInput>(({ input }) => {
        ({ router, owner } = input);
        return { receive: () => {} };
      }),
      writer: plainActor<WriterEvent, WriterInput>(() => ({
        receive: (event) => {
          if (event.type === 'output.flush') {
            options.flush?.();
          } else if (event.type === 'frames.send') {
            const { reportTo, receipt } = event;
            if (reportTo) sent.push(...event.frames.map((frame) => ({ frame, reportTo, receipt })));
            if (receipt !== undefined) {
              awaited.push(() => reportTo?.send({ type: 'frames.delivered', receipt }));
            }
            const frames = writtenFrames(event.frames, (frame, error) => {
              if ('method' in frame)
                reportTo?.send({ type: 'frame.rejected', frame, error, receipt });
            });
            for (const frame of frames) options.said(frame);
          }
          options.afterwards?.();
        },
      })),
    }),
    receive: (line) => router?.send({ type: 'frames.received', frames: origins.framesOf(line) }),
    gone: (line) => {
      const { reason } = line;
      router?.send({ type: 'request.gone', request: origins.requestOf(line), reason });
    },
    unsent: ({ unsent, id: recorded, reason, code = 'TRANSPORT_CLOSED' }, id = recorded) => {
      const message = find(unsent, id);
      const error = replayedError({ reason, code });
      message?.reportTo?.send({ type: 'frame.rejected', ...message, error });
      return message !== undefined;
    },
    returned: ({ returned, id, ...why }) => {
      const message = find(returned, id);
      const error = replayedError(why);
      message?.reportTo?.send({ type: 'frame.returned', frame: message.frame, error });
      return message !== undefined;
    },
    taken: ({ taken: number }) => {
      const taken = awaited[number - 1];
      taken?.();
      return taken !== undefined;
    },
    tell: (fact) => owner?.send(fact),
  };
}

/** Restores a writer event from its line. */
export function writerFact(line: OutputLine | ChannelLine): TransportFact {
  if ('channel' in line) return { type: `standaloneStream.${line.channel}` };
  const { output, error } = line;
  return output === 'broken'
    ? { type: 'output.broken', error: new Error(error) }
    : { type: `output.${output}` };
}

/** The channel of a replayed connection. */
export function replayedChannel(
  started: (connection: ChannelInput['connection']) => void,
  heard: (event: ChannelEvent) => void,
): Port<ChannelEvent, ChannelInput> {
  return plainActor(({ input }) => {
    started(input.connection);
    return { receive: heard };
  });
}
