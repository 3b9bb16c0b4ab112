/**
 * The output of a session. Everything that is said in one turn of the event loop leaves in one write.
 *
 * What the sink does not take waits here. Past `maxOutboundBytes` the session hears `output.blocked`, and nothing new is started
 * until the queue is empty again; nothing is ever dropped while there is somebody to read it.
 */
import { plainActor } from '../machines/port.ts';
import type { Behaviour, Port, Ref } from '../machines/port.ts';
import type { SessionFact, WriterEvent, WriterInput } from '../machines/session-ports.ts';
import { encodeFrame } from '../protocol/codec.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Report } from '../protocol/facts.ts';

/** Where text goes. */
export interface Sink {
  /** Takes the text in any case; false means that it had to be kept, wait for `drained`. */
  write(text: string): boolean;
  /** Calls back once everything written so far is with the operating system. */
  flush(done: () => void): void;
  /** Starts listening; gives what stops it. */
  listen(events: { drained(): void; broken(error: unknown): void }): () => void;
}

export interface WriterOptions {
  /** Counted in UTF-16 units, which are bytes for ASCII. */
  readonly maxOutboundBytes: number;
  readonly report: Report;
}

/** How much one turn may gather before it is written: a bound on memory, far above an ordinary turn. */
const turnLimit = 256 * 1024;

/** The logic of a writer of newline-delimited JSON. Its snapshot's `view` tells the queue's size. */
export function writerActor(sink: Sink, options: WriterOptions): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new Writer(sink, options, input.session));
}

class Writer implements Behaviour<WriterEvent> {
  readonly #sink: Sink;
  readonly #options: WriterOptions;
  readonly #session: Ref<SessionFact>;
  readonly #stopListening: () => void;
  /** The text of this turn. */
  #turn = '';
  /** Text that waits for the sink, by turn. */
  #queue: string[] = [];
  #queued = 0;
  /** What is done with a turn's text: written, queued while the sink is full, dropped when nobody reads any more. */
  #deliver: (text: string) => void = this.#write;
  #flow: 'flowing' | 'blocked' = 'flowing';
  /** What is done when a flush was asked for and everything has been written. */
  #onEmpty: () => void = () => {};

  constructor(sink: Sink, options: WriterOptions, session: Ref<SessionFact>) {
    this.#sink = sink;
    this.#options = options;
    this.#session = session;
    this.#stopListening = sink.listen({
      drained: () => this.#drain(),
      broken: (error) => this.#break(error),
    });
  }

  get view(): { readonly queuedBytes: number } {
    return { queuedBytes: this.#queued + this.#turn.length };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'output.flush') return this.#flush();
    for (const frame of event.frames) {
      this.#append(
        encodeFrame(frame, (message, error) => {
          if ('method' in message && event.rejected) return event.rejected(error, message);
          const what = 'method' in message ? message.method : `The response to ${message.id}`;
          this.#options.report({
            level: 'error',
            name: 'response.unserializable',
            message: `${what} cannot be written as JSON: ${textOfError(error)}`,
          });
        }),
      );
    }
  }

  stop(): void {
    this.#endTurn();
    this.#stopListening();
  }

  #append(text: string): void {
    if (this.#turn === '') queueMicrotask(() => this.#endTurn());
    if (this.#turn.length + text.length > turnLimit) this.#endTurn();
    this.#turn += text;
  }

  #endTurn(): void {
    if (this.#turn === '') return;
    const text = this.#turn;
    this.#turn = '';
    this.#deliver(text);
  }

  #write(text: string): void {
    const hasRoom = this.#sink.write(text);
    // It may have broken just now, and then it stays broken.
    if (!hasRoom && this.#deliver === this.#write) this.#deliver = this.#enqueue;
  }

  #enqueue(text: string): void {
    const last = this.#queue.length - 1;
    const tail = this.#queue[last];
    if (tail !== undefined && tail.length + text.length <= turnLimit) {
      this.#queue[last] = tail + text;
    } else {
      this.#queue.push(text);
    }
    this.#queued += text.length;
    if (this.#flow === 'flowing' && this.#queued > this.#options.maxOutboundBytes) this.#block();
  }

  #drop(): void {}

  /** The sink has room: the queue goes out until it has none, or until the queue is empty. */
  #drain(): void {
    if (this.#deliver === this.#drop) return;
    this.#deliver = this.#write;
    const queue = this.#queue;
    this.#queue = [];
    this.#queued = 0;
    for (const text of queue) this.#deliver(text);
    if (this.#queued > 0 || this.#deliver === this.#drop) return;
    if (this.#flow === 'blocked') this.#unblock();
    const onEmpty = this.#onEmpty;
    this.#onEmpty = () => {};
    onEmpty();
  }

  #block(): void {
    this.#flow = 'blocked';
    this.#options.report({
      level: 'warning',
      name: 'output.blocked',
      message: `The client does not read: ${this.#queued} bytes wait; no request is started until it has read them`,
    });
    this.#session.send({ type: 'output.blocked' });
  }

  #unblock(): void {
    this.#flow = 'flowing';
    this.#options.report({
      level: 'info',
      name: 'output.flowing',
      message: 'The client has read everything; requests are started again',
    });
    this.#session.send({ type: 'output.flowing' });
  }

  #flush(): void {
    this.#endTurn();
    const flushed = () => this.#session.send({ type: 'output.flushed' });
    if (this.#deliver === this.#drop) flushed();
    else if (this.#queued === 0) this.#sink.flush(flushed);
    else this.#onEmpty = () => this.#sink.flush(flushed);
  }

  #break(error: unknown): void {
    if (this.#deliver === this.#drop) return;
    this.#deliver = this.#drop;
    this.#queue = [];
    this.#queued = 0;
    this.#options.report({
      level: 'info',
      name: 'output.broken',
      message: `The client does not take output any more: ${textOfError(error)}`,
    });
    this.#session.send({ type: 'output.broken', error });
  }
}
