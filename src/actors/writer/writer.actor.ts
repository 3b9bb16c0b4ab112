/**
 * The writer of a session. All output of one turn of the event loop leaves in one write.
 *
 * Output that the sink cannot accept is queued. Above `maxOutboundBytes` the session stops starting
 * requests until the queue is empty. Nothing is discarded while the client may still read it.
 */
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Port, Recipient } from '../../machines/port.ts';
import type {
  FramesToSend,
  PeerRole,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../machines/peer-ports.ts';
import { encodeFrame } from '../../protocol/codec.ts';
import type { Unserializable } from '../../protocol/codec.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import { turnEnd } from '../clock.ts';
import { OutboundFlow } from './outbound-flow.ts';
import type { OutputTarget, OutboundFlowOptions, WriterView } from './outbound-flow.ts';

/** A piece of output: text or its bytes. */
export type Chunk = string | Uint8Array;

/** A sink of text. */
export interface Sink {
  /** Accepts the chunk in any case. False: it had to be buffered, so wait for `drained`. */
  write(chunk: Chunk): boolean;
  /** Calls back once everything written so far is with the operating system. */
  flush(done: () => void): void;
  /** Length of accepted output that is not yet with the operating system. */
  bufferedLength(): number;
  /** Subscribes to the sink's events. Returns the function that unsubscribes. */
  listen(events: { drained(): void; broken(error: unknown): void }): () => void;
}

/** Maximum output gathered in one turn before it is written, far above ordinary turns. */
const turnLimit = 256 * 1024;

/**
 * Longer text is queued as bytes. `JSON.stringify` returns long text as a tree of pieces, which the
 * garbage collector would copy repeatedly.
 */
const longText = 64 * 1024;

const encoder = new TextEncoder();

/** Placeholder for a frame that has been encoded. */
const nothing: OutboundFrame = [];

export interface WriterOptions extends OutboundFlowOptions {
  /** The peer's name in messages. */
  readonly peer: PeerRole;
}

/** The writer of newline-delimited JSON. Its snapshot's `view` is a {@link WriterView}. */
export function writerActor(sink: Sink, options: WriterOptions): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new Writer(sink, options, input.owner));
}

class Writer implements Behaviour<WriterEvent>, OutputTarget<Chunk> {
  readonly #sink: Sink;
  readonly #flow: OutboundFlow<Chunk>;
  readonly #stopListening: () => void;
  /** Text gathered in this turn. */
  #turn = '';
  /** Delivery reports to send for this turn's frames. */
  #awaiting: (() => void)[] | undefined = undefined;

  constructor(sink: Sink, options: WriterOptions, owner: Recipient<TransportFact>) {
    this.#sink = sink;
    this.#flow = new OutboundFlow(options, owner, this, `The ${options.peer}`);
    this.#stopListening = sink.listen({
      drained: () => this.#flow.resume(),
      broken: (error) => this.#flow.fail(error),
    });
  }

  get view(): WriterView {
    const { state, queued } = this.#flow;
    return { state, queuedBytes: queued + this.#turn.length };
  }

  receive(event: WriterEvent): void {
    if (event.type === 'frames.send') return this.#encode(event);
    if (event.type === 'request.dropped') return;
    this.#endTurn();
    this.#flow.flush(event.after);
  }

  stop(): void {
    this.#endTurn();
    this.#stopListening();
    // The stream may outlive the session and keep its error listener, so the queue must not stay
    // reachable.
    this.#flow.stop();
  }

  take(chunk: Chunk): boolean {
    return this.#sink.write(chunk);
  }

  enqueue(queue: (Chunk | undefined)[], chunk: Chunk): number {
    const kept =
      chunk.length >= longText && typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
    const tail = queue.at(-1);
    if (
      typeof kept === 'string' &&
      typeof tail === 'string' &&
      tail.length + kept.length <= longText
    ) {
      queue[queue.length - 1] = tail + kept;
    } else {
      queue.push(kept);
    }
    return kept.length;
  }

  bufferedLength(): number {
    return this.#sink.bufferedLength();
  }

  flush(done: () => void): void {
    this.#sink.flush(done);
  }

  #encode(event: FramesToSend): void {
    const { frames, reportTo, receipt } = event;
    let isComplete = true;
    const unserializable: Unserializable = (message, error) => {
      isComplete = false;
      this.#flow.reportUnserializable(message, error, event);
    };
    for (let at = 0; at < frames.length; at++) {
      const text = encodeFrame(frames[at] as OutboundFrame, unserializable);
      // Releases the frame: long answers would otherwise be in memory twice.
      if (text.length >= longText) frames[at] = nothing;
      this.#append(text);
    }
    if (receipt === undefined || !isComplete) return;
    (this.#awaiting ??= []).push(() => reportTo?.send({ type: 'frames.delivered', receipt }));
  }

  #append(text: string): void {
    if (this.#turn === '') void turnEnd.then(() => this.#endTurn());
    if (this.#turn.length + text.length > turnLimit) this.#endTurn();
    this.#turn += text;
  }

  #endTurn(): void {
    if (this.#turn === '') return;
    const text = this.#turn;
    const awaiting = this.#awaiting;
    this.#turn = '';
    this.#flow.deliver(text);
    if (!awaiting) return;
    this.#awaiting = undefined;
    for (const callback of awaiting) this.#flow.whenWritten(callback);
  }
}
