/**
 * Replays the inputs of a recording at their original places, and compares the outputs. Deterministic and without real
 * time. Sessions and connections add their own kinds of input.
 */
import { setImmediate } from 'node:timers/promises';
import type { FrameLine, InputLine } from '../format.ts';
import type { NumberedLine, Recording } from '../recording.ts';
import { settledRounds } from '../timeline.ts';
import type { Difference } from './difference.ts';
import type { Playback } from './playback.ts';
import { RecordingCursor } from './recording-cursor.ts';
import { replayEnds, writerFact } from './replay-ends.actor.ts';
import type { ReplayEnds } from './replay-ends.actor.ts';
import { ReplayClock } from './replay-world.ts';
import { ReplayedHandlers } from './replayed-handlers.ts';

interface Computation {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Replay of one side: a session or a connection. */
export interface Side {
  /** Kind of recording, for messages. */
  readonly name: 'session' | 'connection';
  /** Clock at the start, milliseconds. */
  readonly at: number;
  /** Output line of a sent frame. */
  said(frame: unknown): FrameLine;
  /** Name of the writer, for nested inputs. */
  readonly writer?: string;
}

/** A replay of one side. */
export abstract class Player {
  protected readonly playback: Playback;
  protected readonly cursor: RecordingCursor;
  protected readonly clock: ReplayClock;
  protected readonly handlers: ReplayedHandlers;
  protected readonly ends: ReplayEnds;
  readonly #side: Side;
  readonly #computations: Computation[] = [];

  constructor(recording: Recording, playback: Playback, side: Side) {
    this.playback = playback;
    this.#side = side;
    const cursor = new RecordingCursor(recording, (output) => playback.matched(output));
    this.cursor = cursor;
    this.clock = new ReplayClock(side.at);
    this.handlers = new ReplayedHandlers({
      started: (started, { request: { id, method } }) => cursor.output({ started, id, method }),
      told: (call, told) => cursor.output({ told, call }),
      resumption: (method) => cursor.resumption(method),
      judged: () => this.computed(),
      giveNested: () => this.giveNested(),
    });
    this.ends = replayEnds({
      said: (frame) => cursor.output(side.said(frame)),
      afterwards: () => this.giveNested(side.writer),
    });
  }

  /** Runs the replay. @returns the first difference, if any */
  async play(): Promise<Difference | undefined> {
    const { cursor } = this;
    for (let { input } = cursor; input && !cursor.difference; { input } = cursor) {
      const { nested, rounds } = input.line;
      if (!nested && rounds === undefined) {
        await this.playback.before(input);
        await setImmediate();
      } else {
        // Nested inputs are replayed within their outside call; wait for that call.
        const earliest = nested ? 0 : (rounds ?? 0);
        let round = 0;
        // Inline, because awaiting a function would take another microtask round.
        for (; round < settledRounds; round++) {
          if (cursor.input !== input || (round >= earliest && cursor.isCaughtUp)) break;
          await Promise.resolve();
        }
        if (round === settledRounds) await setImmediate();
      }
      if (cursor.input !== input) continue;
      cursor.expectCaughtUp();
      if (!cursor.difference) this.#give(input);
    }
    await setImmediate();
    cursor.expectCaughtUp();
    await this.end();
    return cursor.difference;
  }

  /** Ends the replayed side, even if its recording has no end. */
  protected abstract end(): void | Promise<void>;

  /** Replays an input specific to this side. @returns the problem, if any */
  protected abstract give(line: InputLine): string | undefined;

  /** Resolves with a recorded computation once its line is reached. */
  protected computed<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#computations.push({ resolve: resolve as Computation['resolve'], reject });
    });
  }

  /**
   * Replays the inputs nested in the current call of outside code.
   *
   * @param place name of the outside code, if recorded
   */
  protected giveNested(place?: string): void {
    for (;;) {
      const { input } = this.cursor;
      if (!input?.line.nested || !this.cursor.isCaughtUp || this.cursor.difference) return;
      if (input.line.within !== place) return;
      this.#give(input);
    }
  }

  #give(input: NumberedLine<InputLine>): void {
    this.cursor.take();
    this.playback.given(input);
    this.clock.advanceTo(input.line.at);
    const problem = this.#giveLine(input.line);
    if (problem !== undefined) this.cursor.refuse(input, problem);
  }

  #giveLine(line: InputLine): string | undefined {
    const { name } = this.#side;
    if ('client' in line || 'frames' in line) this.ends.receive(line);
    else if ('end' in line) this.ends.tell({ type: 'input.ended' });
    else if ('output' in line || 'channel' in line) this.ends.tell(writerFact(line));
    else if ('timer' in line) {
      if (!this.clock.fire(line.timer)) {
        return `timer ${line.timer} fired in the recorded ${name}, and the replayed one has not set it, or has cleared it`;
      }
    } else if ('unsent' in line) {
      if (!this.ends.unsent(line)) return this.#notSent(line.unsent);
    } else if ('returned' in line) {
      if (!this.ends.returned(line)) return this.#notSent(line.returned);
    } else if ('computed' in line) {
      const computation = this.#computations[line.computed - 1];
      if (!computation) {
        return `the recorded ${name} has the outcome of computation ${line.computed} (${line.for}), and the replayed one has not begun it`;
      }
      if (line.thrown === undefined) computation.resolve(line.value);
      else computation.reject(new Error(line.thrown));
    } else if ('call' in line) {
      if (!this.handlers.do(line)) {
        return `the replayed ${name} has not started the handler that was the recorded one's call ${line.call}`;
      }
    } else return this.give(line);
    return undefined;
  }

  #notSent(method: string): string {
    return `the recorded ${this.#side.name} heard what became of ${method}, and the replayed one has not sent it`;
  }
}
