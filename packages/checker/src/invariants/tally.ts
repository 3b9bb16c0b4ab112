/** All invariants, and the tally of verdicts per invariant. */
import type { MoveSequence } from '../move.ts';
import { isStateless } from '../outgoing.ts';
import type { Trace } from '../trace.ts';
import { answerInvariants } from './answers.ts';
import { cancellationInvariants } from './cancellation.ts';
import { capabilityInvariants } from './capabilities.ts';
import type { Invariant, Played } from './invariant.ts';
import { lifecycleInvariants } from './lifecycle.ts';
import { modernInvariants } from './shared-invariants.ts';
import { messageInvariants } from './messages.ts';
import { httpVariants } from './over-http.ts';
import { progressInvariants } from './progress.ts';
import { robustnessInvariants } from './robustness.ts';
import { rootsInvariants } from './roots.ts';

/** Invariants of the revisions with a handshake, in report order. */
export const invariants: readonly Invariant[] = [
  ...messageInvariants,
  ...answerInvariants,
  ...lifecycleInvariants,
  ...capabilityInvariants,
  ...cancellationInvariants,
  ...progressInvariants,
  ...rootsInvariants,
  ...robustnessInvariants,
];

/** Invariants of a revision, in report order. */
export function invariantsOf(
  revision: string,
  transport: 'stdio' | 'http' = 'stdio',
): readonly Invariant[] {
  const ofEra = isStateless(revision) ? modernInvariants(invariants) : invariants;
  return transport === 'http' ? httpVariants(ofEra, revision) : ofEra;
}

/** A play that broke an invariant. */
export interface Breach {
  readonly sequence: MoveSequence;
  readonly trace: Trace;
  readonly detail: string;
  readonly evidence: 'message' | 'silence';
}

/** Verdicts on one invariant so far. */
export interface Tally {
  readonly invariant: Invariant;
  /** Number of plays in which it held. */
  held: number;
  /** Plays that broke it, in order. */
  readonly breaches: Breach[];
}

/** Adds a play to the tallies. */
export function countVerdicts(
  tallies: readonly Tally[],
  sequence: MoveSequence,
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
