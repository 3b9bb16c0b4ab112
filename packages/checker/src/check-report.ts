/** Types of a check's report. */
import type { Clause, Demand } from './invariants/invariant.ts';
import type { Breach } from './invariants/tally.ts';

/** Result for one invariant. */
export interface InvariantFinding {
  readonly id: string;
  readonly title: string;
  readonly demand: Demand;
  readonly clause: Clause;
  readonly outcome: 'holds' | 'broken' | 'untried';
  /** Number of plays that tested it. */
  readonly plays: number;
  /** Precondition for a play to test it. */
  readonly needs: string;
  /** Shortest sequence that breaks it. */
  readonly breach?: Breach & {
    /** Number of plays that broke it, excluding those for shrinking. */
    readonly plays: number;
    /** True if it broke again in a second play; undefined if the check ended before that. */
    readonly again: boolean | undefined;
  };
}

export interface CheckReport {
  /** From the response to initialize; undefined without one. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  /** Negotiated revision, or the requested one if negotiation failed. */
  readonly revision: string;
  readonly seed: number;
  readonly plays: number;
  /** True if the check ended before all plays. */
  readonly interrupted: boolean;
  readonly findings: readonly InvariantFinding[];
  /** Remarks on the findings: what could not be tested, and why. */
  readonly notes: readonly string[];
}
