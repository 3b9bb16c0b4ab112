/** What is said of responses that no pending request waits for. */
import { BoundedMap } from '../../protocol/bounded-map.ts';
import { describe } from '../../protocol/classify.ts';
import type { InboundResponse } from '../../protocol/frames.ts';
import type { ActorFactName, Report } from '../facts.ts';

/** How requests end that have no answer. */
export type Unanswered = 'timedOut' | 'cancelled';

/** How many of them are remembered, to tell a late response from a second one. */
const rememberedUnanswered = 1024;

export class UnexpectedResponses {
  readonly #tell: Report<ActorFactName>;
  /**
   * The latest that ended without an answer. All others that were given an id, and are not pending,
   * were answered.
   */
  readonly #unanswered = new BoundedMap<number, Unanswered>(rememberedUnanswered);

  constructor(report: Report<ActorFactName>) {
    this.#tell = report;
  }

  /** A request has ended without an answer. */
  note(number: number, ending: Unanswered): void {
    this.#unanswered.set(number, ending);
  }

  /**
   * A response has come that settles nothing.
   * @param number of the request that it names, if that is one of ours
   */
  take({ id }: InboundResponse, number: number | undefined): void {
    if (number === undefined) {
      const message = `A response to ${describe(id)}, which nobody sent; dropped`;
      return this.#report('response.unknown', message);
    }
    const ending = this.#unanswered.get(number);
    if (ending === undefined) {
      return this.#report('response.duplicate', `A second response to ${describe(id)}; dropped`);
    }
    const why = ending === 'timedOut' ? 'given up' : 'cancelled';
    const message = `A response to ${describe(id)} after it was ${why}; dropped`;
    this.#report('response.late', message);
  }

  #report(
    name: 'response.duplicate' | 'response.late' | 'response.unknown',
    message: string,
  ): void {
    this.#tell({ level: 'debug', name, message });
  }
}
