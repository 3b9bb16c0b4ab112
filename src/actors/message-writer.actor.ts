/**
 * The output of a session over a transport that takes messages, not bytes. One send is under way at a time, so that the order is
 * the session's whatever the transport does; what comes meanwhile waits, under the same limit as in the writer of bytes.
 */
import { plainActor } from '../machines/port.ts';
import type { Behaviour, Port, Ref } from '../machines/port.ts';
import type { SessionFact, WriterEvent, WriterInput } from '../machines/session-ports.ts';
import { encodeFrame } from '../protocol/codec.ts';
import { RuntimeError, textOfError } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';
import type { OutboundFrame, RequestId } from '../protocol/frames.ts';

/** Where messages go. */
export interface MessageSink {
  /**
   * Takes a copy of a frame, made of JSON values only. Resolves when it has room for the next.
   * @param relatedTo the client's request that a request or notification belongs to
   */
  send(frame: OutboundFrame, relatedTo: RequestId | undefined): Promise<void>;
  /** What a send that failed means: this message alone is lost, or nothing can be sent any more. */
  failureOf(error: unknown): 'lost' | 'broken';
  /** Starts listening; gives what stops it. */
  listen(events: { broken(error: unknown): void }): () => void;
}

export interface MessageWriterOptions {
  /** How much may wait, counted in UTF-16 units of the messages as JSON. */
  readonly maxOutboundBytes: number;
  readonly report: Report;
}

interface Item {
  readonly frame: OutboundFrame;
  readonly size: number;
  readonly relatedTo: RequestId | undefined;
  readonly rejected: ((error: unknown, frame: OutboundFrame) => void) | undefined;
}

/** The logic of a writer of messages. Its snapshot's `view` tells the queue's size. */
export function messageWriterActor(
  sink: MessageSink,
  options: MessageWriterOptions,
): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new MessageWriter(sink, options, input.session));
}

class MessageWriter implements Behaviour<WriterEvent> {
  readonly #sink: MessageSink;
  readonly #options: MessageWriterOptions;
  readonly #session: Ref<SessionFact>;
  readonly #stopListening: () => void;
  #queue: Item[] = [];
  /** Where in the queue the next one stands. */
  #next = 0;
  #queued = 0;
  /** What is done with a frame: sent, queued while a send is under way, dropped when nobody takes any more. */
  #deliver: (item: Item) => void = this.#send;
  #flow: 'flowing' | 'blocked' = 'flowing';
  /** What is done when a flush was asked for and everything has been sent. */
  #onEmpty: () => void = () => {};

  constructor(sink: MessageSink, options: MessageWriterOptions, session: Ref<SessionFact>) {
    this.#sink = sink;
    this.#options = options;
    this.#session = session;
    this.#stopListening = sink.listen({ broken: (error) => this.#break(error) });
  }

  get view(): { readonly queuedBytes: number } {
    return { queuedBytes: this.#queued };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'output.flush') return this.#flush();
    const { frames, relatedTo, rejected } = event;
    for (const frame of frames) {
      const text = encodeFrame(frame, (message, error) => {
        if ('method' in message && rejected) return rejected(error, message);
        const what = 'method' in message ? message.method : `The response to ${message.id}`;
        this.#options.report({
          level: 'error',
          name: 'response.unserializable',
          message: `${what} cannot be written as JSON: ${textOfError(error)}`,
        });
      });
      // The text is what makes it a copy, and safe to send: a transport may hand the object itself to the other side.
      if (text === '') continue;
      const copy = JSON.parse(text) as OutboundFrame;
      this.#deliver({ frame: copy, size: text.length, relatedTo, rejected });
    }
  }

  stop(): void {
    this.#deliver = this.#drop;
    this.#stopListening();
  }

  #send(item: Item): void {
    this.#deliver = this.#enqueue;
    // A transport that throws is one that rejects.
    new Promise<void>((resolve) => {
      resolve(this.#sink.send(item.frame, item.relatedTo));
    }).then(
      () => this.#sendNext(),
      (error: unknown) => this.#fail(item, error),
    );
  }

  #enqueue(item: Item): void {
    this.#queue.push(item);
    this.#queued += item.size;
    if (this.#flow === 'flowing' && this.#queued > this.#options.maxOutboundBytes) this.#block();
  }

  #drop(): void {}

  #sendNext(): void {
    if (this.#deliver === this.#drop) return;
    const item = this.#queue[this.#next];
    if (item) {
      this.#next++;
      this.#queued -= item.size;
      return this.#send(item);
    }
    this.#queue = [];
    this.#next = 0;
    this.#deliver = this.#send;
    if (this.#flow === 'blocked') this.#unblock();
    const onEmpty = this.#onEmpty;
    this.#onEmpty = () => {};
    onEmpty();
  }

  #fail({ frame, rejected }: Item, error: unknown): void {
    if (this.#deliver === this.#drop) return;
    if (this.#sink.failureOf(error) === 'broken') return this.#break(error);
    const what = describeFrame(frame);
    const message = `${what} was not sent: ${textOfError(error)}`;
    this.#options.report({ level: 'warning', name: 'output.lost', message, details: { error } });
    rejected?.(new RuntimeError('TRANSPORT_CLOSED', message, { cause: error }), frame);
    this.#sendNext();
  }

  #block(): void {
    this.#flow = 'blocked';
    this.#options.report({
      level: 'warning',
      name: 'output.blocked',
      message: `The transport takes nothing: ${this.#queued} bytes wait; no request is started until it has taken them`,
    });
    this.#session.send({ type: 'output.blocked' });
  }

  #unblock(): void {
    this.#flow = 'flowing';
    this.#options.report({
      level: 'info',
      name: 'output.flowing',
      message: 'The transport has taken everything; requests are started again',
    });
    this.#session.send({ type: 'output.flowing' });
  }

  #flush(): void {
    const flushed = () => this.#session.send({ type: 'output.flushed' });
    if (this.#deliver === this.#enqueue) this.#onEmpty = flushed;
    else flushed();
  }

  #break(error: unknown): void {
    if (this.#deliver === this.#drop) return;
    this.#deliver = this.#drop;
    this.#queue = [];
    this.#next = 0;
    this.#queued = 0;
    this.#options.report({
      level: 'info',
      name: 'output.broken',
      message: `The transport does not take output any more: ${textOfError(error)}`,
    });
    this.#session.send({ type: 'output.broken', error });
  }
}

function describeFrame(frame: OutboundFrame): string {
  if ('length' in frame) return `A batch of ${frame.length} responses`;
  if ('method' in frame) return frame.method;
  return frame.id === undefined ? 'A response without an id' : `The response to ${frame.id}`;
}
