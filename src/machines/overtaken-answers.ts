/**
 * Rule for keeping a list of the peer current: at most one query is in flight. A change during a query
 * makes its answer stale and causes one more query; the last answer wins. If changes never stop, every
 * `maxOvertaken`-th stale answer is published as not settled, so that waiters do not starve. Failed
 * queries are retried with backoff.
 *
 * Used by {@link rootsMachine} and {@link catalogMachine}.
 */
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';

export interface QueryLimits {
  /** Delay before a retry after a failure, milliseconds; doubled with each failure, up to tenfold. */
  readonly retryMs: number;
  /** Stale answers discarded before one is published as not settled. */
  readonly maxOvertaken: number;
}

/** State of the rule in the context of a machine. */
export interface QueryState<TItems> extends QueryLimits {
  /** Answers discarded since the last publication. */
  readonly overtaken: number;
  /** Last discarded answer: newer than the published one, used if later queries fail. */
  readonly discarded: TItems | undefined;
  /** Failures since the last answer. */
  readonly failures: number;
}

/** State before the first query. */
export const initialQuery = { overtaken: 0, discarded: undefined, failures: 0 } as const;

/** True if a stale answer may be discarded in favor of the next one. */
export function mayDiscard({ overtaken, maxOvertaken }: QueryState<unknown>): boolean {
  return overtaken < maxOvertaken;
}

/** State after an answer was discarded. */
export function afterDiscard<TItems>({ overtaken }: QueryState<TItems>, items: TItems | undefined) {
  return { overtaken: overtaken + 1, discarded: items };
}

/** State after a publication. */
export function afterPublication({ failures }: QueryState<unknown>, end: 'failed' | 'answered') {
  return { ...initialQuery, failures: end === 'failed' ? failures + 1 : 0 };
}

/** Delay before the next retry, milliseconds. */
export function retryDelayOf({ retryMs, failures }: QueryState<unknown>): number {
  return retryMs * Math.min(2 ** (failures - 1), 10);
}

/** A published outcome; `settled` is false if the peer has announced a later change. */
export interface QueryResult<TOutcome> {
  readonly outcome: TOutcome;
  readonly settled: boolean;
}

/** Action `params` derived from the outcome of a query. */
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
