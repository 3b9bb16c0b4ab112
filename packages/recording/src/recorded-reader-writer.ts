/** Records the reader and writer of a session or connection. */
import type { Port } from '../../../src/machines/port.ts';
import type {
  DeliveryEvent,
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  WriterEvent,
  WriterInput,
} from '../../../src/machines/peer-ports.ts';
import type { OutboundFrame } from '../../../src/protocol/frames.ts';
import type { FrameLine, InputLine } from './format.ts';
import { writerLine, writtenFrames } from './lines.ts';
import type { Timeline } from './timeline.ts';

/** Line formats of one side. */
export interface EndLines {
  /** Line of a reader event; undefined if it is not an input. */
  received(event: RouterEvent): InputLine | undefined;
  said(frame: unknown): FrameLine;
  /** Name of the writer, for nested inputs. */
  readonly place?: string;
  /** Line of a failed send. */
  reasonOf(error: unknown): { readonly reason: string; readonly code?: string };
}

/** A reader and a writer with any snapshots. */
export interface ReaderWriter {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

/** Records any number of reader-writer pairs in sequence. */
export class RecordedEnds {
  readonly #timeline: Timeline;
  readonly #lines: EndLines;
  /** Number of sends awaited until the transport accepts them. */
  #awaited = 0;

  constructor(timeline: Timeline, lines: EndLines) {
    this.#timeline = timeline;
    this.#lines = lines;
  }

  /** Wraps a reader-writer pair. */
  record({ reader, writer }: ReaderWriter): ReaderWriter {
    return { reader: this.#recordReader(reader), writer: this.#recordWriter(writer) };
  }

  #recordReader(port: ReaderWriter['reader']): ReaderWriter['reader'] {
    const timeline = this.#timeline;
    return {
      ...port,
      getInitialSnapshot: (scope, { router, owner, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          router: {
            send: (event: RouterEvent) => {
              const line = this.#lines.received(event);
              if (line) timeline.input(line, () => router.send(event));
              else router.send(event);
            },
          },
          owner: {
            send: (event) => {
              if (event.type === 'input.ended')
                timeline.input({ end: true }, () => owner.send(event));
              else owner.send(event);
            },
          },
        }),
    };
  }

  #recordWriter(port: ReaderWriter['writer']): ReaderWriter['writer'] {
    const timeline = this.#timeline;
    return {
      ...port,
      getInitialSnapshot: (scope, { owner, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          owner: {
            send: (event) => {
              const line = writerLine(event);
              if (line) timeline.input(line, () => owner.send(event));
              else owner.send(event);
            },
          },
        }),
      transition: (snapshot, event, scope) => {
        const recorded = event.type === 'frames.send' ? this.#recordSending(event) : event;
        // A synchronous answer of the transport arrives during the session's call, so it is nested.
        const take = () => port.transition(snapshot, recorded, scope);
        return timeline.call(undefined, take, this.#lines.place);
      },
    };
  }

  /** Records an event to the writer, and its delivery. */
  #recordSending(event: FramesToSend): FramesToSend {
    const timeline = this.#timeline;
    const unwritable = new Set<OutboundFrame>();
    const written = writtenFrames(event.frames, (message) => unwritable.add(message));
    for (const frame of written) timeline.output(this.#lines.said(frame));
    const { reportTo, receipt } = event;
    if (!reportTo) return event;
    const awaited = receipt === undefined ? undefined : ++this.#awaited;
    return {
      ...event,
      reportTo: {
        send: (delivery) => {
          const line = this.#deliveryLine(delivery, unwritable, awaited);
          if (line) timeline.input(line, () => reportTo.send(delivery));
          else reportTo.send(delivery);
        },
      },
    };
  }

  /** @param unwritable frames that JSON cannot represent, which a replay rejects by itself */
  #deliveryLine(
    delivery: DeliveryEvent,
    unwritable: ReadonlySet<OutboundFrame>,
    awaited: number | undefined,
  ): InputLine | undefined {
    if (delivery.type === 'frames.delivered') {
      return awaited === undefined ? undefined : { taken: awaited };
    }
    if (delivery.type === 'frame.paused') return undefined;
    const { type, frame, error } = delivery;
    if (!('method' in frame)) return undefined;
    const why = { ...idOf(frame), ...this.#lines.reasonOf(error) };
    if (type === 'frame.returned') return { returned: frame.method, ...why };
    return unwritable.has(frame) ? undefined : { unsent: frame.method, ...why };
  }
}

function idOf(frame: OutboundFrame) {
  return 'id' in frame && frame.id !== undefined ? { id: frame.id } : {};
}
