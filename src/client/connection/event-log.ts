/** The events of a connection: kept for the first listener, up to a bound, then told as they come. */
import type { Report } from '../../actors/facts.ts';
import { Listeners } from '../../actors/listeners.ts';
import type { ConnectionEvent } from './connection-state.ts';

export type EventListener = (event: ConnectionEvent) => void;

export class EventLog {
  readonly #listeners: Listeners<EventListener>;
  readonly #maxKept: number;
  /** Undefined once somebody listens. */
  #kept: ConnectionEvent[] | undefined = [];
  /** How many were given up because nobody listened. */
  #dropped = 0;
  readonly #problems = new Map<string, number>();

  constructor(maxKept: number, report: Report) {
    this.#maxKept = maxKept;
    this.#listeners = new Listeners("A listener to the connection's events", report);
  }

  tell(event: ConnectionEvent): void {
    const kept = this.#kept;
    if (!kept) return this.#listeners.tell((listener) => listener(event));
    kept.push(event);
    if (kept.length <= this.#maxKept) return;
    // The oldest say least of how things stand.
    kept.shift();
    this.#dropped += 1;
  }

  /** What the server did against the protocol. Counted by name. */
  problem(name: string, message: string): void {
    const count = (this.#problems.get(name) ?? 0) + 1;
    this.#problems.set(name, count);
    this.tell({ type: 'problem', name, message, count });
  }

  /** Gives what was kept, and then each event. Returns what ends that. */
  listen(listener: EventListener): () => void {
    const stop = this.#listeners.add(listener);
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const event of kept) this.tell(event);
    if (this.#dropped > 0) {
      const message = `${this.#dropped} events came before anybody listened, and were dropped`;
      this.#dropped = 0;
      this.problem('events.dropped', message);
    }
    return stop;
  }
}
