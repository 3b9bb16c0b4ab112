/**
 * The output of a session. Everything that is said in one turn of the event loop leaves in one
 * write.
 *
 * What the sink does not take waits here. Past `maxOutboundBytes` the session hears of it, and
 * nothing new is started until the queue is empty again; nothing is dropped as long as the
 * client may still read it.
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

/** What is written: text, or the bytes of it. */
export type Chunk = string | Uint8Array;

/** The sink of text. */
export interface Sink {
  /** Takes the chunk in any case; false means that it had to be kept, wait for `drained`. */
  write(chunk: Chunk): boolean;
  /** Calls back once everything written so far is with the operating system. */
  flush(done: () => void): void;
  /** How much of what it has taken is not with the operating system yet. */
  bufferedLength(): number;
  /** Starts listening; gives what stops it. */
  listen(events: { drained(): void; broken(error: unknown): void }): () => void;
}

/**
 * How much one turn may gather before it is written: a bound on memory, far above an ordinary turn.
 */
const turnLimit = 256 * 1024;

/**
 * Text from this length on waits as bytes. `JSON.stringify` gives a long text in many pieces, which
 * the garbage collector would copy about while they wait.
 */
const longText = 64 * 1024;

const encoder = new TextEncoder();

/** Replaces a frame that has been encoded. */
const nothing: OutboundFrame = [];

export interface WriterOptions extends OutboundFlowOptions {
  /** The peer's name in texts. */
  readonly peer: PeerRole;
}

/**
 * The logic of a writer of newline-delimited JSON. Its snapshot's `view` tells the queue's size.
 */
export function writerActor(sink: Sink, options: WriterOptions): Port<WriterEvent, WriterInput> {
  return plainActor(({ input }) => new Writer(sink, options, input.owner));
}

class Writer implements Behaviour<WriterEvent>, OutputTarget<Chunk> {
  readonly #sink: Sink;
  readonly #flow: OutboundFlow<Chunk>;
  readonly #stopListening: () => void;
  /** The text of this turn. */
  #turn = '';
  /** Reports the delivery of the turn's frames to senders that requested it. */
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
    // A stream may outlive its session, and with it the listener that stays for its errors.
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
      // The text is enough: long answers of one turn would take twice as much with what they were
      // made from.
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
