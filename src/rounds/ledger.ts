/**
 * What a call has been told so far: the answers to its questions, and what it has made only once.
 * A run that goes on from a state begins with what an earlier one was told.
 */
import { madeOnce } from '../actors/exchange.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { QuestionKeys } from './question.ts';
import type { Question } from './question.ts';
import type { RequestState, StatedQuestion } from './request-state.ts';

/** What a run goes on from. */
export type Earlier = Pick<RequestState, 'questions' | 'kept' | 'checkpoint' | 'round'>;

const nothingEarlier: Pick<Earlier, 'questions' | 'kept'> = { questions: [], kept: [] };

export class Ledger {
  /** What has an answer, and what an earlier run has asked. */
  #stated: StatedQuestion[];
  /** What an earlier run has asked, and this one has not yet. */
  readonly #unclaimed: StatedQuestion[];
  readonly #keys: QuestionKeys;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #values = new Map<string, unknown>();

  constructor({ questions, kept }: Pick<Earlier, 'questions' | 'kept'> = nothingEarlier) {
    this.#stated = [...questions];
    this.#unclaimed = questions.filter(({ isDemand }) => !isDemand);
    this.#keys = new QuestionKeys(questions.map(({ key }) => key));
    for (const [key, value] of kept) {
      this.#made.set(key, Promise.resolve(value));
      this.#values.set(key, value);
    }
  }

  /** Gives a question its key. @returns the answer that an earlier run got to it */
  claim(question: Question): JsonObject | undefined {
    const at = this.#unclaimed.findIndex(({ print }) => print === question.print);
    const [known] = at < 0 ? [] : this.#unclaimed.splice(at, 1);
    question.key = known?.key ?? this.#keys.take(question.spec.key);
    return known?.answer;
  }

  answered({ key, print, label }: Question, answer: JsonObject): void {
    this.#stated = this.#stated.filter((other) => other.key !== key);
    this.#stated.push({ key, print, label, answer });
  }

  /** Nothing depends on the answers so far any more. */
  dropAnswers(): void {
    const hasNone = ({ answer }: StatedQuestion) => !answer;
    this.#stated = this.#stated.filter(hasNone);
    this.#unclaimed.splice(0, Infinity, ...this.#unclaimed.filter(hasNone));
  }

  /**
   * A handler that is run again has to ask what it has asked before.
   *
   * @param open what is to be asked now
   * @throws {RuntimeError} REPLAY_DIVERGED, naming both questions
   */
  refuseDivergence(method: string, open: readonly Question[]): void {
    const missed = this.#unclaimed.find(({ answer }) => answer);
    const other = open.find(({ key }) => !this.#stated.some((stated) => stated.key === key));
    if (!missed || !other) return;
    const message = `The handler of ${method} was run again, and asks otherwise than before: where it asked ${missed.label} (${missed.key}), it now asks ${other.label}. What a handler asks may depend only on its arguments, on the answers, and on what it keeps with context.once`;
    throw new RuntimeError('REPLAY_DIVERGED', message);
  }

  /** Everything that was asked, for the state that travels. */
  stated(open: readonly Question[]): readonly StatedQuestion[] {
    return [
      ...this.#stated.filter(({ answer }) => answer),
      ...open.map(({ key, print, label, isDemand }) => ({
        ...{ key, print, label },
        ...(isDemand ? ({ isDemand } as const) : {}),
      })),
    ];
  }

  /** What {@link once} has made so far. */
  get kept(): readonly (readonly [key: string, value: unknown])[] {
    return [...this.#values];
  }

  /** See {@link Exchange.once}. */
  once<T>(key: string, make: () => T | Promise<T>): Promise<T> {
    const known = this.#made.get(key);
    if (known) return known as Promise<T>;
    const making = this.#make(key, make);
    this.#made.set(key, making);
    // What has failed is made again.
    making.catch(() => this.#made.delete(key));
    return making;
  }

  async #make<T>(key: string, make: () => T | Promise<T>): Promise<T> {
    const value = await madeOnce(key, make);
    this.#values.set(key, value);
    return value;
  }
}
