/** What all plays together say about each invariant. */
import type { Sequence } from './move.ts';
import type { Invariant, Played } from './invariants/invariant.ts';
import type { Trace } from './trace.ts';

/** A play in which an invariant did not hold. */
export interface Breach {
  readonly sequence: Sequence;
  readonly trace: Trace;
  readonly detail: string;
  readonly evidence: 'message' | 'silence';
}

/** One invariant's results so far. */
export interface Tally {
  readonly invariant: Invariant;
  /** Plays in which it held. */
  held: number;
  /** Plays in which it did not, in the order of the plays. */
  readonly breaches: Breach[];
}

/** Adds a play to the tallies. */
export function count(
  tallies: readonly Tally[],
  sequence: Sequence,
  trace: Trace,
  context: Omit<Played, 'whole' | 'polite'>,
): void {
  const played = { whole: trace, polite: trace.polite, ...context };
  for (const tally of tallies) {
    const judgement = tally.invariant.judge(played);
    if (judgement.kind === 'held') tally.held++;
    if (judgement.kind === 'broken') {
      const { detail, evidence } = judgement;
      tally.breaches.push({ sequence, trace, detail, evidence });
    }
  }
}
