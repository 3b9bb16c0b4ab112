/** A demand on a server that can be judged by a trace. */
import type { Trace } from '../trace.ts';

/** MUST and SHOULD include MUST NOT and SHOULD NOT; `advice` is not in the specification. */
export type Demand = 'MUST' | 'SHOULD' | 'advice';

/** A passage of a specification. */
export interface Clause {
  /** A page of the revision's specification, `basic/lifecycle`, or `JSON-RPC 2.0`. */
  readonly page: string;
  readonly heading: string;
  /** The specification's own words, never a paraphrase. */
  readonly quote: string;
}

export type Judgement =
  /** The trace has tried the invariant, and it holds. */
  | { readonly kind: 'held' }
  /** The trace says nothing about it. */
  | { readonly kind: 'untried' }
  | {
      readonly kind: 'broken';
      /** What happened, for people. */
      readonly detail: string;
      /**
       * `silence`: nothing came in time. It might have come later, so a second play must confirm
       * it.
       */
      readonly evidence: 'message' | 'silence';
    };

/** The data by which an invariant is judged. */
export interface Played {
  /** The whole trace. */
  readonly whole: Trace;
  /** The trace up to the first line that no client may send: it decides on MUST and SHOULD. */
  readonly polite: Trace;
  readonly revision: string;
  /** Tools whose results name the roots. */
  readonly rootsTools: readonly string[];
  /** Tools that ask their client by ending, if it declares enough. */
  readonly askingTools: readonly string[];
  /** After what the server has asked a client for something, in any play. */
  readonly askedAfter: ReadonlySet<string>;
}

export interface Invariant {
  /** Its name in reports and on the command line. */
  readonly id: string;
  /** The demand in one sentence. */
  readonly title: string;
  /** The demand of this revision; undefined if it makes none. */
  demanded(revision: string): { readonly demand: Demand; readonly clause: Clause } | undefined;
  /** What a sequence needs in order to try it; the report says so if none did. */
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

/** A demand of every revision, in the same words on the same page. */
export function always(demand: Demand, page: string, heading: string, quote: string) {
  const demanded = { demand, clause: { page, heading, quote } };
  return () => demanded;
}

/** The first revision describes messages in `basic/messages`, later ones in `basic`. */
export function messagesPage(demand: Demand, heading: string, quote: string) {
  return (revision: string) => {
    const page = revision === '2024-11-05' ? 'basic/messages' : 'basic';
    return { demand, clause: { page, heading, quote } };
  };
}

/** The first broken judgement; otherwise `held` if any is held, else `untried`. */
export function firstBroken(judgements: Iterable<Judgement>): Judgement {
  let verdict = untried;
  for (const judgement of judgements) {
    if (judgement.kind === 'broken') return judgement;
    if (judgement.kind === 'held') verdict = held;
  }
  return verdict;
}

/** A value as JSON, cut to a length that people read. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
