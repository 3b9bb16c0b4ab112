/**
 * The reader of a session: turns an observable of byte chunks into batches of classified frames,
 * one event per chunk.
 *
 * While the output is blocked, input is read ahead up to a limit, because a paused input would hide
 * its end.
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

/** A source of bytes. */
export interface ByteSource {
  /** Completes at the end of input; an error ends it too. Subscribed to once. */
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

/** The reader of newline-delimited JSON. */
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
  /** Bytes that may still be read before the source is paused. */
  #allowance = Infinity;

  constructor(source: ByteSource, options: ReaderOptions, input: ReaderInput) {
    this.#source = source;
    this.#options = options;
    this.#input = input;
    this.#splitter = new LineSplitter(options.maxLineBytes);
    this.#subscription = source.chunks$.subscribe(this);
  }

  // Called by the session.

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

  // Called by the source.

  next(chunk: Uint8Array): void {
    this.#allowance -= chunk.length;
    try {
      if (this.#allowance < 0) this.#source.pause();
    } catch (error) {
      // A source that cannot be paused has failed.
      this.stop();
      return this.error(error);
    }
    this.#decode(this.#splitter.push(chunk));
  }

  complete(): void {
    this.#decode(this.#splitter.end());
    this.#input.owner.send({ type: 'input.ended' });
  }

  error(error: unknown): void {
    const message = `The input failed: ${textOfError(error)}`;
    this.#options.report({ level: 'warning', name: 'input.failed', message, details: { error } });
    this.complete();
  }

  #decode(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    const { maxDepth } = this.#options;
    const frames: InboundFrame[] = [];
    for (const line of lines) {
      frames.push(typeof line === 'string' ? decodeLine(line, maxDepth) : line);
    }
    this.#input.router.send({ type: 'frames.received', frames });
  }
}
