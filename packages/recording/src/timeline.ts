/**
 * What crosses the environment of a session, or of a host's connection, in its order and with its
 * time. Here "session" means either.
 *
 * The session's time stands still between two inputs. A replay that sets the time at each input
 * gives the session exactly the times that it had. An input that arrives while the session calls
 * outside code is nested. One that arrives in the same turn as the input before it notes how many
 * rounds of microtasks lie between them. With both, a replay can put each input in the same place.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type {
  ComputedUse,
  InputLine,
  RandomLine,
  ResumptionLine,
  SessionOutputLine,
} from './format.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import type { RecordingWriter } from './recording-writer.ts';

/** A line without its time and place, which the timeline adds. */
type LineOf<T> = T extends unknown ? Omit<T, 'at' | 'nested' | 'within' | 'rounds'> : never;

/**
 * After this many rounds of microtasks everything that an input causes has happened: none of the
 * session's own chains is as long.
 */
export const settledRounds = 64;

export class Timeline {
  readonly #writer: RecordingWriter;
  readonly #clock: Clock;
  #now: number;
  /** How many calls into the session and out of it are on the stack. */
  #depth = 0;
  /** Which outside code is called now, if there is a name for it. */
  #place: string | undefined;
  /** Rounds of microtasks since the last input; undefined once they have settled. */
  #rounds: number | undefined;
  /** The number of the last input: the rounds of an older one end. */
  #lastInput = 0;
  #computed = 0;
  #timers = 0;

  constructor(writer: RecordingWriter, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
    this.#now = wholeMicroseconds(clock.now());
  }

  /** The session's time, milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** The clock that the session gets: its time is this timeline's, and each timer is an input. */
  get recordedClock(): Clock {
    return {
      now: () => this.#now,
      setTimeout: (callback, delayMs) => {
        const timer = ++this.#timers;
        return this.#clock.setTimeout(() => this.input({ timer }, callback), delayMs);
      },
      clearTimeout: (handle) => this.#clock.clearTimeout(handle),
    };
  }

  /** Records an input and gives it to the session. */
  input<T>(line: LineOf<InputLine>, give: () => T): T {
    if (this.#depth > 0) {
      const within = this.#place === undefined ? {} : { within: this.#place };
      this.#writer.put({ at: this.#now, ...line, nested: true, ...within });
    } else {
      this.#now = Math.max(this.#now, wholeMicroseconds(this.#clock.now()));
      const rounds = this.#rounds;
      this.#writer.put({ at: this.#now, ...line, ...(rounds === undefined ? {} : { rounds }) });
      this.#countRounds();
    }
    return this.#within(give, undefined);
  }

  /** Records what the session does, or a value that it takes from outside. */
  output(line: LineOf<SessionOutputLine | RandomLine | ResumptionLine>): void {
    this.#writer.put({ at: this.#now, ...line });
  }

  /**
   * The session calls outside code; inputs that arrive meanwhile are nested.
   *
   * @param place names what is called, unless what was done before tells it
   */
  call<T>(line: LineOf<SessionOutputLine> | undefined, run: () => T, place?: string): T {
    if (line) this.output(line);
    return this.#within(run, place);
  }

  /**
   * Has something computed off the session's turns, and records what comes of it as an input.
   *
   * @param shown the value as it is recorded
   */
  computed<T>(
    of: ComputedUse,
    compute: () => Promise<T>,
    shown: (value: T) => unknown = (value) => value,
  ): Promise<T> {
    const computed = ++this.#computed;
    return this.#within(compute, undefined).then(
      (value) => this.input({ computed, for: of, value: shown(value) }, () => value),
      (error: unknown) =>
        this.input({ computed, for: of, thrown: textOfError(error) }, () => {
          throw error;
        }),
    );
  }

  /**
   * A signal for the session that aborts when the given one does, once the abort is recorded.
   *
   * @param lineOf the input that the abort is, given its reason
   */
  signal(
    signal: AbortSignal | undefined,
    lineOf: (reason: string) => LineOf<InputLine>,
  ): AbortSignal | undefined {
    // One that has aborted already stops the request before it begins.
    if (!signal || signal.aborted) return signal;
    const controller = new AbortController();
    signal.addEventListener(
      'abort',
      () => {
        const reason: unknown = signal.reason;
        this.input(lineOf(reasonText(reason)), () => controller.abort(reason));
      },
      { once: true },
    );
    return controller.signal;
  }

  #within<T>(run: () => T, place: string | undefined): T {
    const before = this.#place;
    this.#place = place;
    this.#depth++;
    try {
      return run();
    } finally {
      this.#depth--;
      this.#place = before;
    }
  }

  #countRounds(): void {
    const input = ++this.#lastInput;
    this.#rounds = 0;
    const round = () => {
      if (input !== this.#lastInput) return;
      const rounds = (this.#rounds ?? 0) + 1;
      this.#rounds = rounds < settledRounds ? rounds : undefined;
      if (rounds < settledRounds) queueMicrotask(round);
    };
    queueMicrotask(round);
  }
}

/** Milliseconds in whole microseconds, which JSON gives back unchanged. */
function wholeMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

/** The reason as the client is told it. */
function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  return reason instanceof Error ? reason.message : 'cancelled';
}
