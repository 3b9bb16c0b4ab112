/**
 * The rule for keeping a list of the peer current: one query is in flight; a change during it makes
 * its answer stale, and the list is queried again; the last answer wins. Even if every answer is
 * overtaken, waiters get one: every `maxOvertaken`-th is published as not settled. After a failure
 * the list is queried again, with a growing delay.
 *
 * The machines that follow it are {@link rootsMachine} and {@link catalogMachine}.
 */
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';

export interface AskingLimits {
  /**
   * Delay before asking again after a failure, milliseconds; doubled with each failure, up to ten
   * times.
   */
  readonly retryMs: number;
  /** How many overtaken answers are discarded before one is published as not settled. */
  readonly maxOvertaken: number;
}

/** What the rule remembers, in the context of a machine that follows it. */
export interface QueryState<TItems> extends AskingLimits {
  /** Answers discarded since the last publication. */
  readonly overtaken: number;
  /** The last discarded answer: newer than the published one, for use if no better one comes. */
  readonly discarded: TItems | undefined;
  /** Failures since the last answer. */
  readonly failures: number;
}

/** Nothing has been asked yet. */
export const initialQuery = { overtaken: 0, discarded: undefined, failures: 0 } as const;

/** True if an overtaken answer may be discarded in favour of the next one. */
export function mayDiscard({ overtaken, maxOvertaken }: QueryState<unknown>): boolean {
  return overtaken < maxOvertaken;
}

/** The context after an answer was discarded. */
export function afterDiscard<TItems>({ overtaken }: QueryState<TItems>, items: TItems | undefined) {
  return { overtaken: overtaken + 1, discarded: items };
}

/** The context after a publication. */
export function afterPublication({ failures }: QueryState<unknown>, end: 'failed' | 'answered') {
  return { ...initialQuery, failures: end === 'failed' ? failures + 1 : 0 };
}

/** How long to wait before asking again, milliseconds. */
export function retryDelayOf({ retryMs, failures }: QueryState<unknown>): number {
  return retryMs * Math.min(2 ** (failures - 1), 10);
}

/** What is published, and whether it is the latest as far as the peer has said. */
export interface QueryResult<TOutcome> {
  readonly outcome: TOutcome;
  readonly settled: boolean;
}

/** The `params` of a machine's actions, read from the outcome of its query. */
export function resultParams<TOutcome, TFailure>(failureOf: (error: unknown) => TFailure) {
  type Answer = { readonly event: DoneActorEvent<TOutcome> };
  type Failure = { readonly event: ErrorActorEvent };
  return {
    outcome: ({ event }: Answer) => ({ outcome: event.output }),
    settledOutcome: ({ event }: Answer) => ({ outcome: event.output, settled: true }),
    overtakenOutcome: ({ event }: Answer) => ({ outcome: event.output, settled: false }),
    settledFailure: ({ event }: Failure) => ({ outcome: failureOf(event.error), settled: true }),
    overtakenFailure: ({ event }: Failure) => ({ outcome: failureOf(event.error), settled: false }),
  };
}
