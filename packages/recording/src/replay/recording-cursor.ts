/**
 * Where a replay stands in its recording: which input comes next, and which output is due. It
 * compares what the session does as it does it, and keeps the first difference.
 */
import { isInput, isOutput } from '../format.ts';
import type { Resumption } from '../../../../src/actors/request-context.ts';
import type { InputLine, SessionOutputLine } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { isSameJson, withoutTime } from './difference.ts';
import type { Difference } from './difference.ts';

/** What a session took, by what it was for, in the order in which it took it. */
class Taken<T> {
  readonly #values = new Map<string, T[]>();

  put(of: string, value: T): void {
    const values = this.#values.get(of);
    if (values) values.push(value);
    else this.#values.set(of, [value]);
  }

  take(of: string): T | undefined {
    return this.#values.get(of)?.shift();
  }
}

export class RecordingCursor {
  readonly #recording: Recording;
  readonly #matched: (output: NumberedLine) => void;
  /** What the session is given; what it takes, such as random ids, is not among it. */
  readonly #inputs: NumberedLine<InputLine>[] = [];
  readonly #outputs: NumberedLine<SessionOutputLine>[] = [];
  readonly #randomIds = new Taken<string>();
  readonly #resumptions = new Taken<Resumption>();
  #nextInput = 0;
  #nextOutput = 0;
  #difference: Difference | undefined;

  /** @param matched is called with each output that is as it was recorded */
  constructor(recording: Recording, matched: (output: NumberedLine) => void) {
    this.#recording = recording;
    this.#matched = matched;
    for (const { number, line } of recording.lines) {
      if (isOutput(line)) this.#outputs.push({ number, line });
      else if ('random' in line) this.#randomIds.put(line.for, line.random);
      else if ('resumption' in line) this.#resumptions.put(line.for, line.resumption);
      else if (isInput(line)) this.#inputs.push({ number, line });
    }
  }

  get difference(): Difference | undefined {
    return this.#difference;
  }

  /** The next id that the recorded session took for this; undefined if there is none. */
  random(of: string): string | undefined {
    return this.#randomIds.take(of);
  }

  /** What was said of the next call of this method that goes on. */
  resumption(method: string): Resumption {
    return this.#resumptions.take(method) ?? {};
  }

  /** The next input; undefined at the end. */
  get input(): NumberedLine<InputLine> | undefined {
    return this.#inputs[this.#nextInput];
  }

  /** Moves past the input, which the session is being given. */
  take(): void {
    this.#nextInput++;
  }

  /** Whether the session has done everything that it did before this input. */
  get isCaughtUp(): boolean {
    const due = this.#due;
    return !due || due.number > (this.input?.number ?? Infinity);
  }

  /** Compares what the session does with what is due. */
  output(output: SessionOutputLine): void {
    if (this.#difference) return;
    this.#prefer(output);
    const due = this.#due;
    if (due && isSameJson(withoutTime(due.line), withoutTime(output))) {
      this.#nextOutput++;
      this.#matched(due);
      return;
    }
    // If the recording breaks off, nobody knows what came next.
    if (!due && this.#recording.unfinished !== undefined) return;
    this.#difference = due
      ? {
          problem: contrast(verbOf(output), verbOf(due.line)),
          number: due.number,
          recorded: due.line,
          replayed: output,
        }
      : {
          problem: `the replay ${verbOf(output)} after all that was recorded`,
          number: this.#recording.lines.at(-1)?.number ?? 1,
          replayed: output,
        };
  }

  /**
   * Within one turn, when a promise of the host's settles depends on how long the chains of promises
   * are. It says nothing of what the connection does.
   */
  #prefer(done: SessionOutputLine): void {
    const from = this.#nextOutput;
    const before = 'settled' in done ? this.#endOfTurn : (this.input?.number ?? Infinity);
    for (let at = from; at < this.#outputs.length; at++) {
      const output = this.#outputs[at];
      if (!output || output.number > before) return;
      if (isSameJson(withoutTime(output.line), withoutTime(done))) {
        this.#outputs.splice(from, 0, ...this.#outputs.splice(at, 1));
        return;
      }
      // Everything else has its order.
      if (!('settled' in done) && !('settled' in output.line)) return;
    }
  }

  /**
   * Notes a difference unless the session has done everything that it did before the next input.
   */
  expectCaughtUp(): void {
    const due = this.#due;
    if (this.#difference || !due || this.isCaughtUp) return;
    this.#difference = {
      problem: `the replay does nothing where the recorded session ${verbOf(due.line)}`,
      number: due.number,
      recorded: due.line,
    };
  }

  /** Notes that the replayed session cannot be given this input. */
  refuse({ number, line }: NumberedLine, problem: string): void {
    this.#difference ??= { problem, number, recorded: line };
  }

  /** The number of the first input that came in a later turn. */
  get #endOfTurn(): number {
    for (let at = this.#nextInput; at < this.#inputs.length; at++) {
      const input = this.#inputs[at];
      if (input && !isOfTurn(input.line)) return input.number;
    }
    return Infinity;
  }

  get #due(): NumberedLine<SessionOutputLine> | undefined {
    return this.#outputs[this.#nextOutput];
  }
}

/** Whether an input came in the turn of the one before it. */
function isOfTurn({ rounds, nested }: InputLine): boolean {
  return rounds !== undefined || nested === true;
}

function contrast(replayed: string, recorded: string): string {
  return replayed === recorded
    ? `the replay ${replayed} otherwise than the recorded session`
    : `the replay ${replayed} where the recorded session ${recorded}`;
}

/** What a session does, as a verb. */
function verbOf(line: SessionOutputLine): string {
  if ('server' in line || 'sent' in line) return 'sends a frame';
  if ('settled' in line) return `settles call ${line.settled} of the host's`;
  if ('machine' in line) return `takes "${line.on}" in the ${line.machine} machine`;
  if ('started' in line) return `starts the handler of ${line.method}`;
  if ('told' in line) return 'tells a handler of progress';
  if ('resolve' in line) return 'resolves the roots';
  return `ends (${line.closed})`;
}
