/**
 * The actors at the edges of what is replayed. The reader gives what the peer sent, the writer takes
 * what is said to it; the channel of a connection does nothing by itself.
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

/** What was sent, and who hears if it cannot be. */
interface Sent extends Required<Pick<FramesToSend, 'reportTo'>> {
  readonly frame: OutboundFrame;
}

function isNamed(frame: OutboundFrame, method: string, id: unknown): boolean {
  return (
    'method' in frame && frame.method === method && ('id' in frame ? frame.id : undefined) === id
  );
}

/** The two ends of a replayed session. */
export interface ReplayEnds {
  readonly transport: Transport;
  /** Gives the session what its client sent. */
  receive(line: ClientLine | FramesLine): void;
  /** Tells it that the client that waited for an answer has gone. */
  gone(line: GoneLine): void;
  /**
   * Tells the sender that the transport could not send it.
   * @param id of a request, in this session
   * @returns false if it was never sent
   */
  unsent(line: UnsentLine, id?: unknown): boolean;
  /** Tells the sender that it may be sent once more. @returns false if it was never sent */
  returned(line: ReturnedLine): boolean;
  /** Tells the sender that the transport has it. @returns false if it does not wait for that */
  taken(line: TakenLine): boolean;
  /** Tells the session something as its reader or writer would. */
  tell(fact: TransportFact): void;
}

export function replayEnds(options: {
  /** Called with each frame as the client would read it. */
  said(frame: unknown): void;
  /** Called when the session asks to be told that everything is written. */
  flush?(): void;
  /** Called after each event that the writer has taken. */
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

/** What the writer told the session by such a line. */
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
