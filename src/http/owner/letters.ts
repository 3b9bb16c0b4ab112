/** What nodes say to each other about the requests that one of them hands to another. */
import type { Principal } from '../../protocol/request-origin.ts';

/** A request that came to a node which does not own its session. That node has checked it. */
export interface HandedRequest {
  readonly method: string;
  readonly target: string;
  /** Those that authenticate the client are not handed on. */
  readonly headers: { readonly [name: string]: string };
  readonly remoteAddress?: string | undefined;
  readonly principal?: Principal | undefined;
  /** For how long its token lets a stream go on, milliseconds; undefined if for ever. */
  readonly admittedMs?: number | undefined;
  readonly body: string;
}

/** A letter about one request, which has a number at the node that it came to. */
export type Letter =
  /** To the owner. */
  | { readonly kind: 'request'; readonly pipe: string; readonly request: HandedRequest }
  /** To the owner: the client has gone. */
  | { readonly kind: 'left'; readonly pipe: string }
  /** To the owner: the client has taken so many bytes of the answer. */
  | { readonly kind: 'taken'; readonly pipe: string; readonly bytes: number }
  /** To the owner: letters may have been lost. How many parts has it sent? */
  | { readonly kind: 'asked'; readonly pipe: string }
  /** From the owner: a part of the answer. The first has its head. */
  | {
      readonly kind: 'part';
      readonly pipe: string;
      /** Counts the parts of this answer: one that is missing is noticed. */
      readonly number: number;
      readonly head?: AnswerHead;
      readonly text: string;
      readonly isLast?: true;
    }
  /** From the owner: so many parts were sent; undefined if it knows nothing of the request. */
  | { readonly kind: 'sent'; readonly pipe: string; readonly parts: number | undefined }
  /** From the owner: the connection is to be closed. */
  | { readonly kind: 'cut'; readonly pipe: string }
  /** From a node that does not own the session: nothing was done. */
  | { readonly kind: 'moved'; readonly pipe: string }
  /** To all. */
  | ChangedLetter;

/** Something that clients may have subscribed to has changed at a server. */
export interface ChangedLetter {
  readonly kind: 'changed';
  /** The name of the server. */
  readonly server: string;
  readonly method: string;
  readonly uri?: string | undefined;
}

/** How an answer begins. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** Whether it is a stream, whose parts are sent on as they come. */
  readonly isStream: boolean;
}

/** What one text in an inbox holds. */
export interface NodePost {
  readonly from: string;
  /** Counts the envelopes from one node to another: one that comes twice is read once. */
  readonly number: number;
  readonly letters: readonly Letter[];
}

/** How many bytes of an answer may be on their way to the node that the client is connected to. */
export const windowBytes = 256 * 1024;

const encoder = new TextEncoder();

/** The length of a text, bytes. */
export function lengthOf(text: string): number {
  return encoder.encode(text).length;
}
