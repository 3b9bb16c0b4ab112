/** What a server has to keep to, as something that can be read from a trace. */
import type { Trace } from '../trace.ts';

/** MUST and SHOULD as the specification has them (MUST NOT and SHOULD NOT too); `advice` is what it does not demand. */
export type Demand = 'MUST' | 'SHOULD' | 'advice';

/** A passage of a specification. */
export interface Clause {
  /** A page of the revision's specification, `basic/lifecycle`, or `JSON-RPC 2.0`. */
  readonly page: string;
  readonly heading: string;
  /** The words, where they are not long; what they say, without quotation marks in the report, never. */
  readonly quote: string;
}

export type Judgement =
  /** The trace has tried it, and it holds. */
  | { readonly kind: 'held' }
  /** The trace says nothing of it. */
  | { readonly kind: 'untried' }
  | {
      readonly kind: 'broken';
      /** What was seen, for a person. */
      readonly detail: string;
      /** `silence`: nothing came in time. It might have come later, so it must be seen twice. */
      readonly evidence: 'message' | 'silence';
    };

/** What is judged. */
export interface Played {
  /** Everything. */
  readonly whole: Trace;
  /** Up to the first thing that no client may send: a MUST or SHOULD is judged by this. */
  readonly polite: Trace;
  readonly revision: string;
  /** Tools whose results name the roots. */
  readonly tellers: readonly string[];
}

export interface Invariant {
  /** What it is called in reports and on the command line. */
  readonly id: string;
  /** What holds, in one sentence. */
  readonly title: string;
  /** In this revision; undefined where it does not apply. */
  demanded(revision: string): { readonly demand: Demand; readonly clause: Clause } | undefined;
  /** What a sequence needs, for the report of one that was never tried. */
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

/** A demand that every revision has, in the same words on the same page. */
export function always(demand: Demand, page: string, heading: string, quote: string) {
  const demanded = { demand, clause: { page, heading, quote } };
  return () => demanded;
}

/** Messages were in `basic/messages` in the first revision, and are in `basic` since. */
export function messagesPage(demand: Demand, heading: string, quote: string) {
  return (revision: string) => {
    const page = revision === '2024-11-05' ? 'basic/messages' : 'basic';
    return { demand, clause: { page, heading, quote } };
  };
}

/** The first judgement of some that is broken; held if one is, else untried. */
export function firstBroken(judgements: Iterable<Judgement>): Judgement {
  let verdict = untried;
  for (const judgement of judgements) {
    if (judgement.kind === 'broken') return judgement;
    if (judgement.kind === 'held') verdict = held;
  }
  return verdict;
}

/** A value for a person: JSON, cut. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
