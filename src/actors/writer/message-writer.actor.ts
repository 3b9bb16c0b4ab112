/**
 * The output of a session over a transport that takes messages, not bytes. One send is under way at
 * a time, so that the order is the session's whatever the transport does; what comes meanwhile
 * waits, under the same limit as in the writer of bytes.
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

/** The sink of messages. */
export interface MessageSink {
  /**
   * Takes a copy of a frame, made of JSON values only. Resolves when it has room for the next.
   * @param relatedTo the peer's request that a request or notification belongs to
   */
  send(frame: OutboundFrame, relatedTo: RequestId | undefined): Promise<void>;
  /** What a send that failed means: this message alone is lost, or nothing can be sent from now on. */
  failureOf(error: unknown): 'lost' | 'broken';
  /** Starts listening; gives what stops it. */
  listen(events: { broken(error: unknown): void }): () => void;
}

interface Item {
  readonly frame: OutboundFrame;
  /** Of its text. */
  readonly length: number;
  readonly relatedTo: RequestId | undefined;
  readonly address: DeliveryAddress;
}

/** The logic of a writer of messages. Its snapshot's `view` tells the queue's size. */
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
      // The text is what makes it a copy, and safe to send: a transport may hand the object itself
      // to the other side.
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

  /** Nothing else fits until it is sent. */
  take(item: Item): boolean {
    // A transport that throws is one that rejects.
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

  /** What is sent is gone as far as a transport tells. */
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
