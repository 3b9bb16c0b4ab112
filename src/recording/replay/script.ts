/**
 * Where a replay stands in its recording: which input comes next, which output is due. What the session does is compared as it does it; the first
 * difference is kept.
 */
import { isSameJson } from './difference.ts';
import type { Difference } from './difference.ts';
import { isInput, isOutput } from '../format.ts';
import type { InputLine, OutputOfSession } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';

export class Script {
  readonly #recording: Recording;
  readonly #onOutput: (output: NumberedLine) => void;
  #nextInput = 0;
  #nextOutput = 0;
  #difference: Difference | undefined;
  /** Random ids by what they are for, in the order in which they were taken. */
  readonly #randoms = new Map<string, string[]>();

  /** @param onOutput hears of each output that is as it was recorded */
  constructor(recording: Recording, onOutput: (output: NumberedLine) => void) {
    this.#recording = recording;
    this.#onOutput = onOutput;
    for (const { line } of recording.lines) {
      if (!('random' in line)) continue;
      const taken = this.#randoms.get(line.for) ?? [];
      taken.push(line.random);
      this.#randoms.set(line.for, taken);
    }
  }

  get difference(): Difference | undefined {
    return this.#difference;
  }

  /** The id that the recorded session took here; undefined where it took none. */
  random(of: string): string | undefined {
    return this.#randoms.get(of)?.shift();
  }

  /** The next input; undefined at the end. */
  get input(): NumberedLine<InputLine> | undefined {
    const { lines } = this.#recording;
    while (this.#nextInput < lines.length) {
      const each = lines[this.#nextInput] as NumberedLine;
      // Ids are taken by the session, not given to it.
      if (isInput(each.line) && !('random' in each.line)) {
        return each as NumberedLine<InputLine>;
      }
      this.#nextInput++;
    }
    return undefined;
  }

  /** The input is being given to the session. */
  take(): void {
    this.#nextInput++;
  }

  /** True where the session has done all that it did before this input. */
  get isCaughtUp(): boolean {
    const due = this.#due;
    return !due || due.number > (this.input?.number ?? Infinity);
  }

  /** The session does something. */
  output(output: OutputOfSession): void {
    if (this.#difference) return;
    const due = this.#due;
    if (due && isSameJson(withoutTime(due.line), withoutTime(output))) {
      this.#nextOutput++;
      this.#onOutput(due);
      return;
    }
    // Where the recording breaks off, nobody knows what came next.
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
          number: this.#lastNumber,
          replayed: output,
        };
  }

  /** Everything that the session did before the next input must have been done by now. */
  expectCaughtUp(): void {
    const due = this.#due;
    if (this.#difference || !due || this.isCaughtUp) return;
    this.#difference = {
      problem: `the replay does nothing where the recorded session ${verbOf(due.line)}`,
      number: due.number,
      recorded: due.line,
    };
  }

  /** An input that the replayed session has no use for. */
  refuse({ number, line }: NumberedLine, problem: string): void {
    this.#difference ??= { problem, number, recorded: line };
  }

  get #due(): NumberedLine<OutputOfSession> | undefined {
    const { lines } = this.#recording;
    while (this.#nextOutput < lines.length) {
      const each = lines[this.#nextOutput] as NumberedLine;
      if (isOutput(each.line)) return each as NumberedLine<OutputOfSession>;
      this.#nextOutput++;
    }
    return undefined;
  }

  get #lastNumber(): number {
    return this.#recording.lines.at(-1)?.number ?? 1;
  }
}

function withoutTime({ at: _, ...line }: OutputOfSession): object {
  return line;
}

function contrast(replayed: string, recorded: string): string {
  return replayed === recorded
    ? `the replay ${replayed} otherwise than the recorded session`
    : `the replay ${replayed} where the recorded session ${recorded}`;
}

/** What a session does, as a verb. */
function verbOf(line: OutputOfSession): string {
  if ('server' in line) return 'sends a frame';
  if ('machine' in line) return `takes "${line.on}" in the ${line.machine} machine`;
  if ('started' in line) return `starts the handler of ${line.method}`;
  if ('told' in line) return 'tells a handler of progress';
  if ('load' in line) return `loads what ${line.load} needs`;
  if ('resolve' in line) return 'resolves the roots';
  return `ends (${line.closed})`;
}
