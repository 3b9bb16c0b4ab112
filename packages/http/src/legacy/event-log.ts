/**
 * Replay log of a session's streams, for clients whose connection was cut. Limited by events, bytes
 * and age; the oldest events go first, whatever their stream.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { HttpLimits } from '../options.ts';

/** A stream with events in the log. */
export interface LoggedStream {
  /**
   * Called when an event of the stream was dropped.
   *
   * @returns true if the event was never sent on any connection
   */
  onEventDropped(event: number): boolean;
}

/** A logged event, in SSE format. */
interface LoggedEvent {
  readonly stream: LoggedStream;
  readonly number: number;
  readonly text: string;
  readonly loggedAt: number;
}

type StreamEventLimits = Pick<HttpLimits, 'maxEvents' | 'maxEventBytes' | 'eventTtlMs'>;

/** Memory accounting and loss reports of a message buffer. */
export interface Retention {
  /** Called when messages were dropped before any client received them. */
  onLost(count: number, reason: string): void;
  /**
   * Reserves memory for the buffer's total size.
   *
   * @returns false if the quota does not allow that many bytes
   */
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

  /** Number and total size of the logged events. */
  get size(): { readonly events: number; readonly bytes: number } {
    return { events: this.#events.length, bytes: this.#bytes };
  }

  /**
   * Logs an event. An event larger than the whole log is dropped instead of evicting others.
   *
   * @param ageMs time the event has already been kept by another process
   */
  add(stream: LoggedStream, number: number, text: string, ageMs = 0): void {
    const { maxEventBytes } = this.#limits;
    if (text.length > maxEventBytes) {
      if (stream.onEventDropped(number))
        this.#retention.onLost(1, `it is larger than ${maxEventBytes} bytes`);
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

  /** Events of a stream after the given one, in order. */
  after(stream: LoggedStream, number: number): readonly Pick<LoggedEvent, 'number' | 'text'>[] {
    this.trim();
    return this.#events.flatMap((event) =>
      event.stream === stream && event.number > number ? [event] : [],
    );
  }

  /** Drops expired and excess events. */
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
      const bounds = `a session keeps at most ${maxEvents} messages and ${maxEventBytes} bytes, within its client's quota`;
      this.#retention.onLost(excess, bounds);
    }
    if (this.isEmpty) this.#retention.retain(0);
    if (aged > 0) this.#retention.onLost(aged, `they expired after ${eventTtlMs} ms`);
  }

  /** @returns 1 if the event was never sent, otherwise 0 */
  #dropFirst(event: LoggedEvent): number {
    this.#events.shift();
    this.#bytes -= event.text.length;
    return event.stream.onEventDropped(event.number) ? 1 : 0;
  }
}
