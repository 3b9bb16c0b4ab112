/**
 * Position of a replay in its recording: the next input and the next expected output. Compares outputs as they occur, and
 * keeps the first difference.
 */
import { isInput, isOutput } from '../format.ts';
import type { Resumption } from '../../../../src/actors/request-context.ts';
import type { InputLine, SessionOutputLine } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { isSameJson, withoutTime } from './difference.ts';
import type { Difference } from './difference.ts';

/** Ids taken by the session, in order, by purpose. */
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
  /** Inputs passed to the session, without values that it reads, such as random ids. */
  readonly #inputs: NumberedLine<InputLine>[] = [];
  readonly #outputs: NumberedLine<SessionOutputLine>[] = [];
  readonly #randomIds = new Taken<string>();
  readonly #resumptions = new Taken<Resumption>();
  #nextInput = 0;
  #nextOutput = 0;
  #difference: Difference | undefined;

  /** @param matched called with each matching output */
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

  /** The next recorded id for a purpose; undefined if there is none. */
  random(of: string): string | undefined {
    return this.#randomIds.take(of);
  }

  /** The next recorded resumption options of a method. */
  resumption(method: string): Resumption {
    return this.#resumptions.take(method) ?? {};
  }

  /** The next input; undefined at the end of the recording. */
  get input(): NumberedLine<InputLine> | undefined {
    return this.#inputs[this.#nextInput];
  }

  /** Advances past the current input. */
  take(): void {
    this.#nextInput++;
  }

  /** True if all outputs before this input have occurred. */
  get isCaughtUp(): boolean {
    const due = this.#due;
    return !due || due.number > (this.input?.number ?? Infinity);
  }

  /** Compares an output with the next expected one. */
  output(output: SessionOutputLine): void {
    if (this.#difference) return;
    this.#prefer(output);
    const due = this.#due;
    if (due && isSameJson(withoutTime(due.line), withoutTime(output))) {
      this.#nextOutput++;
      this.#matched(due);
      return;
    }
    // Past the end of a truncated recording, nothing can be compared.
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
   * Within one turn, the order in which the host's promises settle depends on the lengths of promise chains, so it is not
   * compared.
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
      // All other outputs are ordered.
      if (!('settled' in done) && !('settled' in output.line)) return;
    }
  }

  /**
   * Records a difference if outputs before the next input are missing.
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

  /** Records a difference for an input that cannot be replayed. */
  refuse({ number, line }: NumberedLine, problem: string): void {
    this.#difference ??= { problem, number, recorded: line };
  }

  /** Number of the first input of a later turn. */
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

/** True if an input came in the same turn as the previous one. */
function isOfTurn({ rounds, nested }: InputLine): boolean {
  return rounds !== undefined || nested === true;
}

function contrast(replayed: string, recorded: string): string {
  return replayed === recorded
    ? `the replay ${replayed} otherwise than the recorded session`
    : `the replay ${replayed} where the recorded session ${recorded}`;
}

/** Verb for a kind of output. */
function verbOf(line: SessionOutputLine): string {
  if ('server' in line || 'sent' in line) return 'sends a frame';
  if ('settled' in line) return `settles call ${line.settled} of the host's`;
  if ('machine' in line) return `takes "${line.on}" in the ${line.machine} machine`;
  if ('started' in line) return `starts the handler of ${line.method}`;
  if ('told' in line) return 'tells a handler of progress';
  if ('resolve' in line) return 'resolves the roots';
  return `ends (${line.closed})`;
}
