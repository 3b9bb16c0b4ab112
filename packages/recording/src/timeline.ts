/**
 * Orders and times everything that crosses the environment of a session or a host's connection; "session" here means
 * either.
 *
 * The session's time stands still between two inputs, so a replay that sets the time at each input reproduces it exactly.
 * An input that arrives while the session calls outside code is nested. An input in the same event-loop turn as the
 * previous one records the number of microtask rounds between them. With both, a replay restores the exact order.
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

/** A line before the timeline adds its time and place. */
type LineOf<T> = T extends unknown ? Omit<T, 'at' | 'nested' | 'within' | 'rounds'> : never;

/**
 * Number of microtask rounds after which all effects of an input have happened; longer than any promise chain of the
 * session.
 */
export const settledRounds = 64;

export class Timeline {
  readonly #writer: RecordingWriter;
  readonly #clock: Clock;
  #now: number;
  /** Depth of nested calls into and out of the session. */
  #depth = 0;
  /** Name of the outside code being called, if it has one. */
  #place: string | undefined;
  /** Microtask rounds since the last input; undefined once settled. */
  #rounds: number | undefined;
  /** Number of the last input, which stops the counting for older ones. */
  #lastInput = 0;
  #computed = 0;
  #timers = 0;

  constructor(writer: RecordingWriter, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
    this.#now = wholeMicroseconds(clock.now());
  }

  /** Time of the session, milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** Clock of the session, driven by the timeline; each timer is an input. */
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

  /** Records an input and passes it to the session. */
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

  /** Records an output of the session, or a value that it reads from outside. */
  output(line: LineOf<SessionOutputLine | RandomLine | ResumptionLine>): void {
    this.#writer.put({ at: this.#now, ...line });
  }

  /**
   * Runs outside code for the session; inputs that arrive meanwhile are nested.
   *
   * @param place name of the called code, unless the previous output implies it
   */
  call<T>(line: LineOf<SessionOutputLine> | undefined, run: () => T, place?: string): T {
    if (line) this.output(line);
    return this.#within(run, place);
  }

  /**
   * Runs an asynchronous computation, and records its outcome as an input.
   *
   * @param shown converts the value to its recorded form
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
   * Derives a signal for the session that aborts after the abort is recorded.
   *
   * @param lineOf creates the input line from the reason
   */
  signal(
    signal: AbortSignal | undefined,
    lineOf: (reason: string) => LineOf<InputLine>,
  ): AbortSignal | undefined {
    // An already aborted signal stops the request before it begins.
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

/** Rounds milliseconds to microseconds, which survive JSON. */
function wholeMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}

/** The reason as sent to the client. */
function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  return reason instanceof Error ? reason.message : 'cancelled';
}
