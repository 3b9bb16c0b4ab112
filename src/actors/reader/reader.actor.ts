/**
 * The input of a session: from an observable of chunks to batches of classified frames, one event
 * per chunk.
 *
 * While the output is blocked it reads ahead, up to a limit, because a paused input would hide its
 * own end.
 */
import type { Observable, Observer, Subscription } from 'rxjs';
import { plainActor } from '../../machines/port.ts';
import type { Behaviour, Port } from '../../machines/port.ts';
import type { ReaderEvent, ReaderInput } from '../../machines/peer-ports.ts';
import { decodeLine } from '../../protocol/codec.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { InboundFrame } from '../../protocol/frames.ts';
import { LineSplitter } from './line-splitter.ts';
import type { Line } from './line-splitter.ts';

/** The source of bytes. */
export interface ByteSource {
  /** Completes at the end of the input; an error ends it as well. Subscribed once. */
  readonly chunks$: Observable<Uint8Array>;
  pause(): void;
  resume(): void;
}

export interface ReaderOptions {
  readonly maxLineBytes: number;
  readonly maxDepth: number;
  readonly readAheadBytes: number;
  readonly report: Report<ActorFactName>;
}

/** The logic of a reader of newline-delimited JSON. */
export function readerActor(
  source: ByteSource,
  options: ReaderOptions,
): Port<ReaderEvent, ReaderInput> {
  return plainActor(({ input }) => new Reader(source, options, input));
}

class Reader implements Behaviour<ReaderEvent>, Observer<Uint8Array> {
  readonly #source: ByteSource;
  readonly #options: ReaderOptions;
  readonly #input: ReaderInput;
  readonly #splitter: LineSplitter;
  #subscription: Subscription | undefined = undefined;
  /** How much may still be read before the source is paused. */
  #allowance = Infinity;

  constructor(source: ByteSource, options: ReaderOptions, input: ReaderInput) {
    this.#source = source;
    this.#options = options;
    this.#input = input;
    this.#splitter = new LineSplitter(options.maxLineBytes);
    this.#subscription = source.chunks$.subscribe(this);
  }

  // What the session says.

  receive(event: ReaderEvent): void {
    if (event.type === 'output.blocked') {
      this.#allowance = this.#options.readAheadBytes;
    } else {
      this.#allowance = Infinity;
      this.#source.resume();
    }
  }

  stop(): void {
    this.#subscription?.unsubscribe();
  }

  // What the source says.

  next(chunk: Uint8Array): void {
    this.#allowance -= chunk.length;
    try {
      if (this.#allowance < 0) this.#source.pause();
    } catch (error) {
      // A source that cannot be paused has failed.
      this.stop();
      return this.error(error);
    }
    this.#take(this.#splitter.push(chunk));
  }

  complete(): void {
    this.#take(this.#splitter.end());
    this.#input.owner.send({ type: 'input.ended' });
  }

  error(error: unknown): void {
    const message = `The input failed: ${textOfError(error)}`;
    this.#options.report({ level: 'warning', name: 'input.failed', message, details: { error } });
    this.complete();
  }

  #take(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    const { maxDepth } = this.#options;
    const frames: InboundFrame[] = [];
    for (const line of lines) {
      frames.push(typeof line === 'string' ? decodeLine(line, maxDepth) : line);
    }
    this.#input.router.send({ type: 'frames.received', frames });
  }
}
