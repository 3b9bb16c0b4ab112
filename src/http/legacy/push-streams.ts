/**
 * What a session says that belongs to no request: it goes on one of its client's GET streams, the
 * newest. Until there is one it waits.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import type { EventSink } from '../http-exchange.ts';
import type { EventLog } from './event-log.ts';

interface PushStream {
  readonly name: string;
  readonly sink: EventSink;
}

/** How many messages wait for a stream; then the oldest is dropped. */
const maxWaiting = 256;

export class PushStreams {
  readonly #log: EventLog;
  readonly #dropped: (count: number) => void;
  /** The newest last. */
  #open: readonly PushStream[] = [];
  /** What no stream was there for. */
  #waiting: string[] = [];

  constructor(log: EventLog, dropped: (count: number) => void) {
    this.#log = log;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#open.length;
  }

  /** @param text with a line feed at its end */
  push(text: string): void {
    const stream = this.#open.at(-1);
    if (stream) return stream.sink.write(this.#log.append(stream.name, text));
    this.#waiting.push(text);
    if (this.#waiting.length <= maxWaiting) return;
    this.#waiting.shift();
    this.#dropped(1);
  }

  /** @param events what it has missed */
  open(name: string, sink: EventSink, events: readonly string[] = []): void {
    for (const event of events) sink.write(event);
    this.#open = [...this.#open, { name, sink }];
    const waiting = this.#waiting.splice(0);
    for (const text of waiting) this.push(text);
  }

  closed(sink: EventSink): void {
    this.#open = this.#open.filter((stream) => stream.sink !== sink);
  }

  end(): void {
    const open = this.#open;
    this.#open = [];
    for (const { sink } of open) sink.end();
  }
}
