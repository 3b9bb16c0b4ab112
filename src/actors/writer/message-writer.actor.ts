/**
 * The writer of a session over a transport that accepts messages instead of bytes. One send runs at
 * a time, which preserves the order on any transport; later messages are queued, with the same
 * limit as in the byte writer.
 */
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Port, Recipient } from '../../machines/port.ts';
import type { TransportFact, WriterEvent, WriterInput } from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { OutboundFrame, RequestId } from '../../protocol/frames.ts';
import { OutboundFlow } from './outbound-flow.ts';
import type {
  DeliveryAddress,
  OutputTarget,
  OutboundFlowOptions,
  WriterView,
} from './outbound-flow.ts';

/** A sink of messages. */
export interface MessageSink {
  /**
   * Sends a copy of a frame, which holds only JSON values. Resolves when the sink accepts the next.
   * @param relatedTo id of the peer's request that the message relates to
   */
  send(frame: OutboundFrame, relatedTo: RequestId | undefined): Promise<void>;
  /** Consequence of a failed send: `lost` (this message only) or `broken` (the whole output). */
  failureOf(error: unknown): 'lost' | 'broken';
  /** Subscribes to failures. Returns the function that unsubscribes. */
  listen(events: { broken(error: unknown): void }): () => void;
}

interface Item {
  readonly frame: OutboundFrame;
  /** Length of the encoded text. */
  readonly length: number;
  readonly relatedTo: RequestId | undefined;
  readonly address: DeliveryAddress;
}

/** The message writer. Its snapshot's `view` is a {@link WriterView}. */
export function messageWriterActor(
  sink: MessageSink,
  options: OutboundFlowOptions,
): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new MessageWriter(sink, options, input.owner));
}

class MessageWriter implements Behaviour<WriterEvent>, OutputTarget<Item> {
  readonly #sink: MessageSink;
  readonly #report: Report<ActorFactName>;
  readonly #flow: OutboundFlow<Item>;
  readonly #stopListening: () => void;

  constructor(sink: MessageSink, options: OutboundFlowOptions, owner: Recipient<TransportFact>) {
    this.#sink = sink;
    this.#report = options.report;
    this.#flow = new OutboundFlow(options, owner, this, 'The transport');
    this.#stopListening = sink.listen({ broken: (error) => this.#flow.fail(error) });
  }

  get view(): WriterView {
    const { state, queued } = this.#flow;
    return { state, queuedBytes: queued };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'output.flush') return this.#flow.flush(event.after);
    if (event.type !== 'frames.send') return;
    const { frames, relatedTo, reportTo, receipt } = event;
    for (const [at, frame] of frames.entries()) {
      const text = encodeFrame(frame, (message, error) =>
        this.#flow.reportUnserializable(message, error, event),
      );
      // Encoding and parsing makes a safe copy: a transport may pass the object itself to the other
      // side.
      if (text === '') continue;
      const copy = JSON.parse(text) as OutboundFrame;
      this.#flow.deliver({
        frame: copy,
        length: text.length,
        relatedTo: relatedTo?.id,
        address: { reportTo, receipt: at === frames.length - 1 ? receipt : undefined },
      });
    }
  }

  stop(): void {
    this.#flow.stop();
    this.#stopListening();
  }

  /** Starts a send. Returns false, since the next one must wait for it. */
  take(item: Item): boolean {
    // Treats a synchronous exception of the transport as a rejection.
    new Promise<void>((resolve) => {
      resolve(this.#sink.send(item.frame, item.relatedTo));
    }).then(
      () => {
        const { reportTo, receipt } = item.address;
        if (receipt !== undefined) reportTo?.send({ type: 'frames.delivered', receipt });
        this.#flow.resume();
      },
      (error: unknown) => this.#fail(item, error),
    );
    return false;
  }

  enqueue(queue: (Item | undefined)[], item: Item): number {
    queue.push(item);
    return item.length;
  }

  /** Always 0: transports do not report what they buffer. */
  bufferedLength(): number {
    return 0;
  }

  flush(done: () => void): void {
    done();
  }

  #fail({ frame, address }: Item, error: unknown): void {
    if (this.#flow.state === 'ended') return;
    if (this.#sink.failureOf(error) === 'broken') return this.#flow.fail(error);
    const what = describeFrame(frame);
    const message = `${what} was not sent: ${textOfError(error)}`;
    this.#report({ level: 'warning', name: 'output.lost', message, details: { error } });
    const cause = new RuntimeError('TRANSPORT_CLOSED', message, { cause: error });
    const { reportTo, receipt } = address;
    reportTo?.send({ type: 'frame.rejected', frame, error: cause, receipt });
    this.#flow.resume();
  }
}

function describeFrame(frame: OutboundFrame): string {
  if ('length' in frame) return `A batch of ${frame.length} responses`;
  if ('method' in frame) return frame.method;
  return frame.id === undefined ? 'A response without an id' : `The response to ${frame.id}`;
}
