/**
 * The rule by which a list of the peer's is kept: one query in flight; a change during it makes its
 * answer stale, and the list is asked for again; the last answer wins. Whoever waits gets an answer
 * even if each is overtaken: every `maxOvertaken`-th is published as not settled. After a failure it
 * is asked again, later each time.
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
export interface Asked<TItems> extends AskingLimits {
  /** Answers discarded since the last publication. */
  readonly overtaken: number;
  /** The last of them: newer than what was published, should no better one come. */
  readonly discarded: TItems | undefined;
  /** Failures since the last answer. */
  readonly failures: number;
}

/** Nothing has been asked yet. */
export const neverAsked = { overtaken: 0, discarded: undefined, failures: 0 } as const;

/** True if an answer that was overtaken may be discarded, and the next one be waited for. */
export function mayDiscard({ overtaken, maxOvertaken }: Asked<unknown>): boolean {
  return overtaken < maxOvertaken;
}

/** After an answer that was discarded. */
export function afterDiscard<TItems>({ overtaken }: Asked<TItems>, items: TItems | undefined) {
  return { overtaken: overtaken + 1, discarded: items };
}

/** After something was published. */
export function afterPublication({ failures }: Asked<unknown>, end: 'failed' | 'answered') {
  return { ...neverAsked, failures: end === 'failed' ? failures + 1 : 0 };
}

/** How long to wait before asking again, milliseconds. */
export function retryDelayOf({ retryMs, failures }: Asked<unknown>): number {
  return retryMs * Math.min(2 ** (failures - 1), 10);
}

/** What is published, and whether it is the latest as far as the peer has told. */
export interface Finding<TOutcome> {
  readonly outcome: TOutcome;
  readonly settled: boolean;
}

/** The `params` of a machine's actions for what its query came to. */
export function findingsOf<TOutcome, TFailure>(failureOf: (error: unknown) => TFailure) {
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
