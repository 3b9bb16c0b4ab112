/**
 * The memory transport: a session and its peer in one process. For embedding and for tests.
 * Messages are copied as JSON, so that neither side sees the other's objects; they pass the reader and the writer of stdio, so that every
 * limit holds here too.
 */
import { Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import { readerActor } from '../actors/reader.actor.ts';
import { writerActor } from '../actors/writer.actor.ts';
import type { Transport } from './transport.ts';

/** The other side of a memory transport. */
export interface MemoryPeer {
  /** Sends messages as one chunk of input: all of them are seen before anything else happens. */
  send(...messages: readonly unknown[]): void;
  /** Sends bytes or text as they are, line feeds and all: for what is no message. */
  sendRaw(chunk: string | Uint8Array): void;
  /** What the session sends, a JSON value each. Completes when the session has ended and everything has been read. */
  readonly received$: Observable<unknown>;
  /** Ends the session's input. */
  end(): void;
  /** Stops reading: the session's output backs up. */
  stopReading(): void;
  /** Reads again, beginning with what has been held back. */
  resumeReading(): void;
  /** Breaks the session's output, as a closed pipe would. */
  breakOutput(error: unknown): void;
  /** True while the session has paused its input; what is sent meanwhile waits. */
  readonly paused: boolean;
}

/** A transport and its peer. The transport serves one session. */
export function memory(): { readonly transport: Transport; readonly peer: MemoryPeer } {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const input$ = new Subject<Uint8Array>();
  const received$ = new Subject<unknown>();
  /** Input that arrived while the session had paused it. */
  let waiting: (() => void)[] | undefined;
  /** Output that the peer has not read. */
  let unread: string[] | undefined;
  /** Called once everything has been read. */
  let flushed = () => {};
  let ended = () => {};
  let sink = { drained: () => {}, broken: (_error: unknown) => {} };

  const deliver = (action: () => void) => {
    if (waiting) waiting.push(action);
    else action();
  };
  const read = (text: string) => {
    for (const line of text.split('\n')) {
      if (line !== '') received$.next(JSON.parse(line));
    }
  };

  return {
    transport: ({ limits, report }) => ({
      reader: readerActor(
        {
          chunks$: input$,
          pause: () => (waiting ??= []),
          resume: () => {
            const actions = waiting ?? [];
            waiting = undefined;
            for (const action of actions) deliver(action);
          },
        },
        { ...limits, report },
      ),
      writer: writerActor(
        {
          write: (chunk) => {
            const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk);
            if (unread) unread.push(text);
            else read(text);
            return !unread;
          },
          flush: (done) => {
            if (unread) flushed = done;
            else done();
          },
          listen: (events) => {
            sink = events;
            return () => {
              if (unread) ended = () => received$.complete();
              else received$.complete();
            };
          },
        },
        { maxOutboundBytes: limits.maxOutboundBytes, report },
      ),
    }),
    peer: {
      send: (...messages) => {
        const text = messages.map((message) => JSON.stringify(message) + '\n').join('');
        deliver(() => input$.next(encoder.encode(text)));
      },
      sendRaw: (chunk) =>
        deliver(() => input$.next(typeof chunk === 'string' ? encoder.encode(chunk) : chunk)),
      received$,
      end: () => deliver(() => input$.complete()),
      stopReading: () => (unread ??= []),
      resumeReading: () => {
        const texts = unread ?? [];
        unread = undefined;
        texts.forEach(read);
        sink.drained();
        flushed();
        flushed = () => {};
        ended();
      },
      breakOutput: (error) => sink.broken(error),
      get paused() {
        return waiting !== undefined;
      },
    },
  };
}
