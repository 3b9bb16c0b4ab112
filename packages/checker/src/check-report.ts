/** What a check has found. */
import type { Clause, Demand } from './invariants/invariant.ts';
import type { Breach } from './invariants/tally.ts';

/** The result for one invariant. */
export interface InvariantFinding {
  readonly id: string;
  readonly title: string;
  readonly demand: Demand;
  readonly clause: Clause;
  readonly outcome: 'holds' | 'broken' | 'untried';
  /** How many plays tried it. */
  readonly plays: number;
  /** What a play needs in order to try it. */
  readonly needs: string;
  /** The shortest sequence that breaks it. */
  readonly breach?: Breach & {
    /** How many plays broke it, not counting those of the shrinking. */
    readonly plays: number;
    /** Whether it broke again in a second play; undefined if the check ended before that. */
    readonly again: boolean | undefined;
  };
}

export interface CheckReport {
  /** From the answer to initialize; undefined if there was none. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  /** The negotiated revision, or the requested one if none was negotiated. */
  readonly revision: string;
  readonly seed: number;
  readonly plays: number;
  /** Whether the check ended before everything was played. */
  readonly interrupted: boolean;
  readonly findings: readonly InvariantFinding[];
  /** What the reader of the findings must know: what could not be tried, and why. */
  readonly notes: readonly string[];
}
