/** The two actors at the ends of a replayed session: the reader gives what the client sent, the writer what the session says. */
import { plainActor } from '../../machines/port.ts';
import type { Ref } from '../../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  SessionFact,
  WriterEvent,
  WriterInput,
} from '../../machines/session-ports.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import type { Transport } from '../../transports/transport.ts';
import { writtenFrames } from '../written.ts';

export interface ReplayEnds {
  readonly transport: Transport;
  receive(frames: readonly InboundFrame[]): void;
  /** What reader or writer tells the session. */
  tell(fact: SessionFact): void;
}

/**
 * @param said gets each frame as the client would read it
 * @param flush called when the session wants to know that everything is written
 * @param afterwards called after each event that the writer took
 */
export function replayEnds(options: {
  said(frame: unknown): void;
  flush?(): void;
  afterwards?(): void;
}): ReplayEnds {
  let router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  let session: Ref<SessionFact> | undefined = undefined;
  return {
    transport: () => ({
      reader: plainActor<ReaderEvent, ReaderInput>(({ input }) => {
        ({ router, session } = input);
        return { receive: () => {} };
      }),
      writer: plainActor<WriterEvent, WriterInput>(() => ({
        receive: (event) => {
          if (event.type === 'output.flush') {
            options.flush?.();
          } else {
            const frames = writtenFrames(event.frames, (message, error) => {
              if ('method' in message) event.rejected?.(error, message);
            });
            for (const frame of frames) options.said(frame);
          }
          options.afterwards?.();
        },
      })),
    }),
    receive: (frames) => router?.send({ type: 'frames.received', frames }),
    tell: (fact) => session?.send(fact),
  };
}
