/**
 * What the streams of a session have said, so that a client whose stream was cut can have it
 * repeated. Bounded by events, bytes and age: the oldest go first, whatever their stream.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../actors/clock.ts';
import type { HttpLimits } from '../options.ts';

/** A stream whose events are kept. */
export interface LoggedStream {
  /**
   * An event of it is not kept any more.
   * @returns true if no connection has ever had it
   */
  forgot(event: number): boolean;
}

/** An event as it was written. */
interface LoggedEvent {
  readonly stream: LoggedStream;
  readonly number: number;
  readonly text: string;
  readonly loggedAt: number;
}

export type EventLimits = Pick<HttpLimits, 'maxEvents' | 'maxEventBytes' | 'eventTtlMs'>;

export class EventLog {
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #lost: (count: number, reason: string) => void;
  #events: (LoggedEvent | undefined)[] = [];
  /** Of {@link #events}, the first that is kept. */
  #first = 0;
  #bytes = 0;

  /** @param lost told how many events were dropped that no client has had, and why */
  constructor(limits: EventLimits, clock: Clock, lost: (count: number, reason: string) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#lost = lost;
  }

  get isEmpty(): boolean {
    return this.#first === this.#events.length;
  }

  /** How many are kept, and their bytes together. */
  get kept(): { readonly events: number; readonly bytes: number } {
    return { events: this.#events.length - this.#first, bytes: this.#bytes };
  }

  /** Keeps an event. One that alone is more than may be kept is dropped, and no other for it. */
  add(stream: LoggedStream, number: number, text: string): void {
    const { maxEventBytes } = this.#limits;
    if (text.length > maxEventBytes) {
      if (stream.forgot(number)) this.#lost(1, `it is longer than ${maxEventBytes} bytes`);
      return;
    }
    const loggedAt = this.#clock.now();
    this.#events.push({ stream, number, text, loggedAt });
    this.#bytes += text.length;
    const oldest = this.#events[this.#first];
    const isOld = oldest !== undefined && oldest.loggedAt <= loggedAt - this.#limits.eventTtlMs;
    if (isOld || this.#isTooMuch()) this.#trimAt(loggedAt);
  }

  #isTooMuch(): boolean {
    const { maxEvents, maxEventBytes } = this.#limits;
    return this.#events.length - this.#first > maxEvents || this.#bytes > maxEventBytes;
  }

  /** The events of a stream after one of them, in order. */
  after(stream: LoggedStream, number: number): readonly string[] {
    this.trim();
    return this.#events.flatMap((event) =>
      event?.stream === stream && event.number > number ? [event.text] : [],
    );
  }

  /** Drops what is too old, and what is too much. */
  trim(): void {
    this.#trimAt(this.#clock.now());
  }

  #trimAt(now: number): void {
    const { maxEvents, maxEventBytes, eventTtlMs } = this.#limits;
    let excess = 0;
    let aged = 0;
    for (let event = this.#events[this.#first]; event; event = this.#events[this.#first]) {
      if (this.#isTooMuch()) excess += this.#dropFirst(event);
      else if (event.loggedAt <= now - eventTtlMs) aged += this.#dropFirst(event);
      else break;
    }
    if (excess > 0) {
      this.#lost(excess, `a session keeps ${maxEvents} of at most ${maxEventBytes} bytes`);
    }
    if (aged > 0) this.#lost(aged, `they were kept for ${eventTtlMs} ms`);
    this.#compact();
  }

  /** @returns 1 if no connection has had it, 0 otherwise */
  #dropFirst(event: LoggedEvent): number {
    this.#events[this.#first++] = undefined;
    this.#bytes -= event.text.length;
    return event.stream.forgot(event.number) ? 1 : 0;
  }

  /** Lets go of the dropped events, rarely enough to cost nothing. */
  #compact(): void {
    if (this.#first === 0) return;
    if (this.isEmpty) this.#events = [];
    else if (this.#first > 64 && this.#first * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#first);
    } else {
      return;
    }
    this.#first = 0;
  }
}
