/**
 * The output of a session. Everything that is said in one turn of the event loop leaves in one write.
 *
 * What the sink does not take waits here. Past `maxOutboundBytes` the session hears of it, and nothing new is started
 * until the queue is empty again; nothing is ever dropped while there is somebody to read it.
 */
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Port, Ref } from '../../machines/port.ts';
import type {
  FramesToSend,
  SessionFact,
  WriterEvent,
  WriterInput,
} from '../../machines/session-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { Unserializable } from '../../protocol/codec.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import { afterThis } from '../microtask.ts';
import { OutboundFlow } from './outbound-flow.ts';
import type { OutboundFlowOptions } from './outbound-flow.ts';

/** What is written: text, or the bytes of it. */
export type Chunk = string | Uint8Array;

/** Where text goes. */
export interface Sink {
  /** Takes the chunk in any case; false means that it had to be kept, wait for `drained`. */
  write(chunk: Chunk): boolean;
  /** Calls back once everything written so far is with the operating system. */
  flush(done: () => void): void;
  /** How much of what it has taken is not with the operating system yet. */
  untaken(): number;
  /** Starts listening; gives what stops it. */
  listen(events: { drained(): void; broken(error: unknown): void }): () => void;
}

/** How much one turn may gather before it is written: a bound on memory, far above an ordinary turn. */
const turnLimit = 256 * 1024;

/**
 * Text from this length on waits as bytes. `JSON.stringify` gives a long text in many pieces, which the garbage collector would copy about
 * while they wait.
 */
const longText = 64 * 1024;

const encoder = new TextEncoder();

/** Stands where a frame was that has been encoded. */
const nothing: OutboundFrame = [];

/** No flush was asked for. */
const nobodyWaits = () => {};

/** The logic of a writer of newline-delimited JSON. Its snapshot's `view` tells the queue's size. */
export function writerActor(
  sink: Sink,
  options: OutboundFlowOptions,
): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new Writer(sink, options, input.session));
}

class Writer implements Behaviour<WriterEvent> {
  readonly #sink: Sink;
  readonly #flow: OutboundFlow;
  readonly #stopListening: () => void;
  /** The text of this turn. */
  #turn = '';
  /** How much was said so far, as {@link OutboundFlow} counts it. */
  #said = 0;
  /** What waits for the sink, by turn. */
  #queue: Chunk[] = [];
  /** What is done with a turn's text: written, queued while the sink is full, dropped when nobody reads any more. */
  #deliver: (chunk: Chunk) => void = this.#write;
  /** What is done when a flush was asked for and everything has been written. */
  #onEmpty: () => void = nobodyWaits;

  constructor(sink: Sink, options: OutboundFlowOptions, session: Ref<SessionFact>) {
    this.#sink = sink;
    this.#flow = new OutboundFlow(options, session, 'The client');
    this.#stopListening = sink.listen({
      drained: () => this.#drain(),
      broken: (error) => this.#break(error),
    });
  }

  get view(): { readonly queuedBytes: number } {
    return { queuedBytes: this.#flow.queued + this.#turn.length };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'output.flush') this.#flush();
    else this.#encode(event);
  }

  stop(): void {
    this.#endTurn();
    this.#stopListening();
  }

  #encode({ frames, rejected }: FramesToSend): void {
    const unserializable: Unserializable = (message, error) =>
      this.#flow.unserializable(message, error, rejected);
    for (let at = 0; at < frames.length; at++) {
      const text = encodeFrame(frames[at] as OutboundFrame, unserializable);
      // The text is enough: long answers of one turn would take twice as much with what they were made from.
      if (text.length >= longText) frames[at] = nothing;
      this.#append(text);
    }
  }

  #append(text: string): void {
    if (this.#turn === '') afterThis(() => this.#endTurn());
    if (this.#turn.length + text.length > turnLimit) this.#endTurn();
    this.#turn += text;
  }

  #endTurn(): void {
    if (this.#turn === '') return;
    const text = this.#turn;
    this.#turn = '';
    this.#said += text.length;
    this.#deliver(text);
  }

  #write(chunk: Chunk): void {
    const hasRoom = this.#sink.write(chunk);
    // It may have broken just now, and then it stays broken.
    if (!hasRoom && this.#deliver === this.#write) this.#deliver = this.#enqueue;
  }

  #enqueue(chunk: Chunk): void {
    const last = this.#queue.length - 1;
    const tail = this.#queue[last];
    if (typeof chunk !== 'string') {
      this.#queue.push(chunk);
    } else if (chunk.length >= longText) {
      this.#queue.push(encoder.encode(chunk));
    } else if (typeof tail === 'string' && tail.length + chunk.length <= longText) {
      this.#queue[last] = tail + chunk;
    } else {
      this.#queue.push(chunk);
    }
    this.#flow.add(chunk.length);
  }

  #drop(): void {}

  /** The sink has room: the queue goes out until it has none, or until the queue is empty. */
  #drain(): void {
    if (this.#deliver === this.#drop) return;
    this.#deliver = this.#write;
    const queue = this.#queue;
    this.#queue = [];
    this.#flow.take(this.#flow.queued);
    for (const chunk of queue) this.#deliver(chunk);
    if (this.#queue.length > 0 || this.#deliver === this.#drop) return;
    this.#flow.emptied();
    const onEmpty = this.#onEmpty;
    this.#onEmpty = nobodyWaits;
    onEmpty();
  }

  #flush(): void {
    this.#endTurn();
    const flushed = () => this.#flow.flushed();
    if (this.#deliver === this.#drop) flushed();
    else if (this.#queue.length === 0) this.#sink.flush(flushed);
    else this.#onEmpty = () => this.#sink.flush(flushed);
    this.#flow.asked(this.#said - this.#flow.queued - this.#sink.untaken());
  }

  #break(error: unknown): void {
    this.#deliver = this.#drop;
    this.#queue = [];
    this.#flow.break(error);
  }
}
