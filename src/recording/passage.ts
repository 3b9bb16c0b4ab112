/**
 * The order of what passes a session's edge.
 *
 * The session's time stands still between two inputs, so that a replay which sets the time at each input gives the session the very times that it
 * had. An input that comes while the session calls code of somebody else's is nested; one that comes in the turn of the input before it
 * says after how many rounds of microtasks it came: with both, a replay can put it into the same place.
 */
import type { Clock } from '../actors/clock.ts';
import type { InputLine, OutputOfSession } from './format.ts';
import type { RecordingBook } from './recording-book.ts';

/** Every member that tells something of a line, of whatever kind it is. */
type LineOf<T> = T extends unknown ? Omit<T, 'at' | 'nested' | 'rounds'> : never;

/** So many rounds of microtasks after an input all that it leads to has happened; no chain of the session's own is that long. */
export const settledRounds = 64;

export class Passage {
  readonly #book: RecordingBook;
  readonly #clock: Clock;
  #now: number;
  /** How many calls into the session and out of it are on the stack. */
  #depth = 0;
  /** Rounds of microtasks since the last input; undefined once they have settled. */
  #rounds: number | undefined;
  /** Counts inputs, so that an older one's rounds end. */
  #turn = 0;

  constructor(book: RecordingBook, clock: Clock) {
    this.#book = book;
    this.#clock = clock;
    this.#now = rounded(clock.now());
  }

  get now(): number {
    return this.#now;
  }

  /** Something comes to the session. */
  input<T>(line: LineOf<InputLine>, run: () => T): T {
    if (this.#depth > 0) {
      this.#book.put({ at: this.#now, ...line, nested: true });
    } else {
      this.#now = Math.max(this.#now, rounded(this.#clock.now()));
      const rounds = this.#rounds;
      this.#book.put({ at: this.#now, ...line, ...(rounds === undefined ? {} : { rounds }) });
      this.#countRounds();
    }
    return this.#within(run);
  }

  /** The session does something. */
  output(line: LineOf<OutputOfSession>): void {
    this.#book.put({ at: this.#now, ...line });
  }

  /** The session calls code of somebody else's. */
  call<T>(line: LineOf<OutputOfSession> | undefined, run: () => T): T {
    if (line) this.output(line);
    return this.#within(run);
  }

  #within<T>(run: () => T): T {
    this.#depth++;
    try {
      return run();
    } finally {
      this.#depth--;
    }
  }

  #countRounds(): void {
    const turn = ++this.#turn;
    this.#rounds = 0;
    const round = () => {
      if (turn !== this.#turn) return;
      const rounds = (this.#rounds ?? 0) + 1;
      this.#rounds = rounds < settledRounds ? rounds : undefined;
      if (rounds < settledRounds) queueMicrotask(round);
    };
    queueMicrotask(round);
  }
}

/** Microseconds: what JSON gives back as it was. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
