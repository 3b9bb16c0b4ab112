/** A `report` that remembers, for tests that wait for what no message tells. */
import type { Fact, Report } from '../actors/facts.ts';
import type { RecordingFactName } from '../recording/recording-book.ts';
import type { FactName } from '../server/facts.ts';
import { Inbox } from './inbox.ts';

export class RecordedFacts {
  readonly #inbox = new Inbox<Fact>();

  /** Given to `listen` as `report`. */
  readonly report: Report = (fact) => this.#inbox.add(fact);

  /** Every fact so far. */
  get all(): readonly Fact[] {
    return this.#inbox.all;
  }

  /** Every fact of this name so far. */
  of(name: FactName | RecordingFactName): readonly Fact[] {
    return this.all.filter((fact) => fact.name === name);
  }

  /**
   * The first fact of this name that has not been taken yet; waits for it.
   * @throws {Error} the session ended without it
   */
  next(name: FactName | RecordingFactName): Promise<Fact> {
    return this.#inbox.take(`fact ${name}`, (fact): fact is Fact => fact.name === name);
  }

  /** Nothing more will happen: who waits fails. */
  close(reason: string): void {
    this.#inbox.close(reason);
  }
}
