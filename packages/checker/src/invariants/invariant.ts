/** Types and helpers for invariants: requirements on a server that a trace can prove or refute. */
import type { Trace } from '../trace.ts';

/** MUST and SHOULD include MUST NOT and SHOULD NOT. `advice` is not in the specification. */
export type Demand = 'MUST' | 'SHOULD' | 'advice';

/** A passage of a specification. */
export interface Clause {
  /** Page of the revision's specification, such as `basic/lifecycle`, or `JSON-RPC 2.0`. */
  readonly page: string;
  readonly heading: string;
  /** Literal quotation, never a paraphrase. */
  readonly quote: string;
}

export type Judgement =
  /** The trace tested the invariant, and it holds. */
  | { readonly kind: 'held' }
  /** The trace does not test the invariant. */
  | { readonly kind: 'untried' }
  | {
      readonly kind: 'broken';
      /** Readable description of the violation. */
      readonly detail: string;
      /**
       * `silence`: nothing arrived in time. It might have arrived later, so a second play must
       * confirm it.
       */
      readonly evidence: 'message' | 'silence';
    };

/** Input for judging an invariant. */
export interface Played {
  /** The complete trace. */
  readonly whole: Trace;
  /**
   * The trace before the first line that no client may send, on which MUST and SHOULD are judged.
   */
  readonly polite: Trace;
  readonly revision: string;
  /** Tools whose results name the roots. */
  readonly rootsTools: readonly string[];
  /** Tools that return `input_required` if the client declares enough capabilities. */
  readonly askingTools: readonly string[];
  /** Client messages after which the server sent a request in any play. */
  readonly requestTriggers: ReadonlySet<string>;
}

export interface Invariant {
  /** Id in reports and on the command line. */
  readonly id: string;
  /** The requirement in one sentence. */
  readonly title: string;
  /** Requirement of a revision; undefined if it has none. */
  demanded(revision: string): { readonly demand: Demand; readonly clause: Clause } | undefined;
  /** Precondition for testing it, reported if no sequence met it. */
  readonly needs: string;
  judge(played: Played): Judgement;
}

export const held: Judgement = { kind: 'held' };
export const untried: Judgement = { kind: 'untried' };

export function broken(detail: string): Judgement {
  return { kind: 'broken', detail, evidence: 'message' };
}

export function silent(detail: string): Judgement {
  return { kind: 'broken', detail, evidence: 'silence' };
}

/** Builds a requirement that all revisions state in the same words on the same page. */
export function always(demand: Demand, page: string, heading: string, quote: string) {
  const demanded = { demand, clause: { page, heading, quote } };
  return () => demanded;
}

/**
 * Builds a requirement on messages: the first revision has them in `basic/messages`, later ones in
 * `basic`.
 */
export function messagesPage(demand: Demand, heading: string, quote: string) {
  return (revision: string) => {
    const page = revision === '2024-11-05' ? 'basic/messages' : 'basic';
    return { demand, clause: { page, heading, quote } };
  };
}

/** Returns the first broken judgement; otherwise `held` if any is held, else `untried`. */
export function firstBroken(judgements: Iterable<Judgement>): Judgement {
  let verdict = untried;
  for (const judgement of judgements) {
    if (judgement.kind === 'broken') return judgement;
    if (judgement.kind === 'held') verdict = held;
  }
  return verdict;
}

/** Formats a value as JSON, truncated for display. */
export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
