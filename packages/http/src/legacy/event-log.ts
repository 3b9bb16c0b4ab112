/**
 * What the streams of a session have said, so that a client whose stream was cut can have it
 * repeated. Bounded by events, bytes and age: the oldest go first, whatever their stream.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { HttpLimits } from '../options.ts';

/** A stream whose events are kept. */
export interface LoggedStream {
  /**
   * An event of it was dropped.
   * @returns true if no connection has ever had it
   */
  onEventDropped(event: number): boolean;
}

/** An event as it was written. */
interface LoggedEvent {
  readonly stream: LoggedStream;
  readonly number: number;
  readonly text: string;
  readonly loggedAt: number;
}

type StreamEventLimits = Pick<HttpLimits, 'maxEvents' | 'maxEventBytes' | 'eventTtlMs'>;

/** What is told of what a session keeps. */
export interface Retention {
  /** So many were dropped that no client has had, and why. */
  onLost(count: number, reason: string): void;
  /** Counts what is kept. @returns false if there is no room for so many bytes */
  retain(bytes: number): boolean;
}

export class StreamEventLog {
  readonly #limits: StreamEventLimits;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #events: LoggedEvent[] = [];
  #bytes = 0;

  constructor(limits: StreamEventLimits, clock: Clock, retention: Retention) {
    this.#limits = limits;
    this.#clock = clock;
    this.#retention = retention;
  }

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** How many are kept, and their bytes together. */
  get size(): { readonly events: number; readonly bytes: number } {
    return { events: this.#events.length, bytes: this.#bytes };
  }

  /**
   * Keeps an event. One that alone is more than may be kept is dropped, and no other for it.
   * @param ageMs how long it has been kept already, by another process
   */
  add(stream: LoggedStream, number: number, text: string, ageMs = 0): void {
    const { maxEventBytes } = this.#limits;
    if (text.length > maxEventBytes) {
      if (stream.onEventDropped(number))
        this.#retention.onLost(1, `it is longer than ${maxEventBytes} bytes`);
      return;
    }
    this.#events.push({ stream, number, text, loggedAt: this.#clock.now() - ageMs });
    this.#bytes += text.length;
    if (this.#isOverLimit()) this.trim();
  }

  #isOverLimit(): boolean {
    const { maxEvents, maxEventBytes } = this.#limits;
    if (this.#events.length > maxEvents || this.#bytes > maxEventBytes) return true;
    return !this.#retention.retain(this.#bytes);
  }

  /** The events of a stream after one of them, in order. */
  after(stream: LoggedStream, number: number): readonly Pick<LoggedEvent, 'number' | 'text'>[] {
    this.trim();
    return this.#events.flatMap((event) =>
      event.stream === stream && event.number > number ? [event] : [],
    );
  }

  /** Drops what is too old, and what is too much. */
  trim(): void {
    const { maxEvents, maxEventBytes, eventTtlMs } = this.#limits;
    const now = this.#clock.now();
    let excess = 0;
    let aged = 0;
    for (let event = this.#events[0]; event; event = this.#events[0]) {
      if (this.#isOverLimit()) excess += this.#dropFirst(event);
      else if (event.loggedAt <= now - eventTtlMs) aged += this.#dropFirst(event);
      else break;
    }
    if (excess > 0) {
      const bounds = `a session keeps ${maxEvents} of at most ${maxEventBytes} bytes, as far as its client has room`;
      this.#retention.onLost(excess, bounds);
    }
    if (this.isEmpty) this.#retention.retain(0);
    if (aged > 0) this.#retention.onLost(aged, `they were kept for ${eventTtlMs} ms`);
  }

  /** @returns 1 if no connection has had it, 0 otherwise */
  #dropFirst(event: LoggedEvent): number {
    this.#events.shift();
    this.#bytes -= event.text.length;
    return event.stream.onEventDropped(event.number) ? 1 : 0;
  }
}
