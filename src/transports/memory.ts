/**
 * The memory transport: a session and its peer in one process, for embedding and tests. Messages
 * are copied as JSON, so neither side sees the other's objects. The reader and writer are those of
 * stdio, so all limits apply.
 */
import { Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import { readerActor } from '../actors/reader/reader.actor.ts';
import type { ByteSource } from '../actors/reader/reader.actor.ts';
import { writerActor } from '../actors/writer/writer.actor.ts';
import type { Chunk, Sink } from '../actors/writer/writer.actor.ts';
import type { Transport } from './transport.ts';

/** The peer's side of a memory transport. */
export interface MemoryPeer {
  /**
   * Sends messages as one chunk of input. The session reads all of them before anything else
   * happens.
   */
  send(...messages: readonly unknown[]): void;
  /** Sends bytes or text unchanged. Add the line feeds yourself. */
  sendRaw(chunk: string | Uint8Array): void;
  /**
   * Messages from the session, as JSON values. Completes once the session has ended and all output
   * has been read.
   */
  readonly received$: Observable<unknown>;
  /** Ends the session's input. */
  end(): void;
  /** Stops reading: the session's output backs up. */
  stopReading(): void;
  /** Resumes reading, starting with the buffered output. */
  resumeReading(): void;
  /** Breaks the session's output, as a closed pipe does. */
  breakOutput(error: unknown): void;
  /** True while the session has paused its input. Messages sent meanwhile are queued. */
  readonly paused: boolean;
}

/** Creates a transport for one session, and its peer. */
export function memory(): { readonly transport: Transport; readonly peer: MemoryPeer } {
  const link = new MemoryLink();
  return {
    transport: ({
      limits: { maxLineBytes, maxDepth, readAheadBytes, maxOutboundBytes },
      report,
      peer,
    }) => ({
      reader: readerActor(link, { maxLineBytes, maxDepth, readAheadBytes, report }),
      writer: writerActor(link, { maxOutboundBytes, report, peer }),
    }),
    peer: link,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Both sides of a connection: the session's byte streams and the peer. */
class MemoryLink implements MemoryPeer, ByteSource, Sink {
  readonly chunks$ = new Subject<Uint8Array>();
  readonly received$ = new Subject<unknown>();
  /** Input queued while the session has paused it. */
  #waiting: (() => void)[] | undefined = undefined;
  /** Output buffered while the peer is not reading. */
  #unread: string[] | undefined = undefined;
  /** Called once the peer has read everything. */
  #flushed: (() => void) | undefined = undefined;
  #session: Parameters<Sink['listen']>[0] | undefined = undefined;
  #isOver = false;

  // Called by the session's reader.

  pause(): void {
    this.#waiting ??= [];
  }

  resume(): void {
    const actions = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const action of actions) this.#deliver(action);
  }

  // Called by the session's writer.

  write(chunk: Chunk): boolean {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk);
    if (this.#unread) this.#unread.push(text);
    else this.#read(text);
    return !this.#unread;
  }

  flush(done: () => void): void {
    if (this.#unread) this.#flushed = done;
    else done();
  }

  bufferedLength(): number {
    return this.#unread?.reduce((sum, text) => sum + text.length, 0) ?? 0;
  }

  listen(session: Parameters<Sink['listen']>[0]): () => void {
    this.#session = session;
    return () => {
      this.#isOver = true;
      if (!this.#unread) this.received$.complete();
    };
  }

  // Called by the peer.

  send(...messages: readonly unknown[]): void {
    this.sendRaw(messages.map((message) => JSON.stringify(message) + '\n').join(''));
  }

  sendRaw(chunk: string | Uint8Array): void {
    this.#deliver(() =>
      this.chunks$.next(typeof chunk === 'string' ? encoder.encode(chunk) : chunk),
    );
  }

  end(): void {
    this.#deliver(() => this.chunks$.complete());
  }

  stopReading(): void {
    this.#unread ??= [];
  }

  resumeReading(): void {
    const texts = this.#unread ?? [];
    this.#unread = undefined;
    for (const text of texts) this.#read(text);
    this.#session?.drained();
    const flushed = this.#flushed;
    this.#flushed = undefined;
    flushed?.();
    if (this.#isOver) this.received$.complete();
  }

  breakOutput(error: unknown): void {
    this.#session?.broken(error);
  }

  get paused(): boolean {
    return this.#waiting !== undefined;
  }

  #deliver(action: () => void): void {
    if (this.#waiting) this.#waiting.push(action);
    else action();
  }

  #read(text: string): void {
    for (const line of text.split('\n')) {
      if (line !== '') this.received$.next(JSON.parse(line));
    }
  }
}
