/**
 * What the streams of a session have said, so that a client whose stream was cut can have it
 * repeated. Bounded by events, bytes and age: the oldest go first.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import type { Clock } from '../../actors/clock.ts';
import type { HttpLimits } from '../options.ts';

interface LoggedEvent {
  readonly stream: string;
  readonly number: number;
  readonly text: string;
  readonly loggedAt: number;
}

export interface Replay {
  readonly stream: string;
  /** The events after the one that the client has, as they were written. */
  readonly events: readonly string[];
  /** True if some of them are not kept any more. */
  readonly isIncomplete: boolean;
}

export class EventLog {
  readonly #limits: Pick<HttpLimits, 'maxEvents' | 'maxEventBytes' | 'eventTtlMs'>;
  readonly #clock: Clock;
  #events: LoggedEvent[] = [];
  #bytes = 0;
  /** How many events each stream has had. */
  readonly #counts = new Map<string, number>();
  /** The last event of each stream that is not kept any more. */
  readonly #dropped = new Map<string, number>();

  constructor(limits: HttpLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Notes a message as the next event of a stream. @returns the event as it is written */
  append(stream: string, text: string): string {
    const number = (this.#counts.get(stream) ?? 0) + 1;
    this.#counts.set(stream, number);
    const event = `id: ${stream}-${number}\ndata: ${text}\n`;
    this.#events.push({ stream, number, text: event, loggedAt: this.#clock.now() });
    this.#bytes += event.length;
    this.#trim();
    return event;
  }

  /** The id of what a stream has said last; of its beginning, if it has said nothing. */
  lastId(stream: string): string {
    return `${stream}-${this.#counts.get(stream) ?? 0}`;
  }

  /** What a stream has said after an event. @returns undefined if no such event was ever sent */
  replay(lastEventId: string): Replay | undefined {
    const [, stream = '', digits = ''] = /^(.+)-(\d{1,15})$/.exec(lastEventId) ?? [];
    const last = Number(digits);
    const count = this.#counts.get(stream);
    if (digits === '' || count === undefined || last > count) return undefined;
    this.#trim();
    const events = this.#events
      .filter((event) => event.stream === stream && event.number > last)
      .map(({ text }) => text);
    return { stream, events, isIncomplete: (this.#dropped.get(stream) ?? 0) > last };
  }

  /** Begins a stream: it can be resumed from its start. */
  open(stream: string): void {
    this.#counts.set(stream, 0);
  }

  /** Nobody can ask for it any more, or need. */
  forget(stream: string): void {
    this.#counts.delete(stream);
    this.#dropped.delete(stream);
    const kept = this.#events.filter((event) => event.stream !== stream);
    this.#bytes = kept.reduce((sum, { text }) => sum + text.length, 0);
    this.#events = kept;
  }

  #trim(): void {
    const { maxEvents, maxEventBytes, eventTtlMs } = this.#limits;
    const expired = this.#clock.now() - eventTtlMs;
    let drop = 0;
    for (const { text, loggedAt, stream, number } of this.#events) {
      const isTooMuch = this.#events.length - drop > maxEvents || this.#bytes > maxEventBytes;
      if (!isTooMuch && loggedAt > expired) break;
      this.#bytes -= text.length;
      this.#dropped.set(stream, number);
      drop++;
    }
    if (drop > 0) this.#events = this.#events.slice(drop);
  }
}
