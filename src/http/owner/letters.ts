/** What nodes say to each other about the requests that one of them hands to another. */
import type { Principal } from '../../protocol/request-origin.ts';
import type { RequestHead } from '../http-exchange.ts';

/** A request that came to a node which does not own its session. That node has checked it. */
export interface HandedRequest {
  readonly method: string;
  readonly target: string;
  readonly remoteAddress: string | undefined;
  readonly principal: Principal | undefined;
  /** For how long its token lets a stream go on, milliseconds; undefined if for ever. */
  readonly admittedMs: number | undefined;
  /** Without what authenticates the client. */
  readonly head: RequestHead;
  /** Names and values by turns of all headers that are not in the head, but for those that authenticate the client. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** A letter about one request, which has a number at the node that it came to. */
export type Letter =
  /** To the owner. */
  | { readonly kind: 'request'; readonly pipe: number; readonly request: HandedRequest }
  /** To the owner: the client has gone. */
  | { readonly kind: 'left'; readonly pipe: number }
  /** To the owner: the client has taken so many bytes of the answer. */
  | { readonly kind: 'taken'; readonly pipe: number; readonly bytes: number }
  /** To the owner: letters may have been lost. How many parts has it sent? */
  | { readonly kind: 'asked'; readonly pipe: number }
  /** From the owner: all of an answer. */
  | {
      readonly kind: 'answer';
      readonly pipe: number;
      readonly head: AnswerHead;
      readonly text: string;
    }
  /** From the owner: a part of the answer. The first has its head. */
  | {
      readonly kind: 'part';
      readonly pipe: number;
      /** Counts the parts of this answer: one that is missing is noticed. */
      readonly number: number;
      readonly head?: AnswerHead;
      readonly text: string;
      readonly isLast?: true;
    }
  /** From the owner: so many parts were sent; undefined if it knows nothing of the request. */
  | { readonly kind: 'sent'; readonly pipe: number; readonly parts: number | undefined }
  /** From the owner: the connection is to be closed. */
  | { readonly kind: 'cut'; readonly pipe: number }
  /** From a node that does not own the session: nothing was done. */
  | { readonly kind: 'moved'; readonly pipe: number }
  /** To all. */
  | ChangedLetter;

/** Something that clients may have subscribed to has changed at a server. */
export interface ChangedLetter {
  readonly kind: 'changed';
  /** Counts the changes at a node: one that is told twice is news once. */
  readonly serial: number;
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
  /** Counts the envelopes of one node: one that comes twice is read once. */
  readonly number: number;
  readonly letters: readonly Letter[];
}

/**
 * The two letters that every request needs are rows, without the names of what is in them. Their texts are JSON
 * as a rule, which would be escaped here and read twice there: they follow the line that all else is in, in the
 * order of the rows, and the rows have their lengths in characters.
 */
type RequestRow = readonly [
  row: 'request',
  pipe: number,
  length: number,
  method: string,
  target: string,
  remoteAddress: string | null,
  principal: Principal | null,
  admittedMs: number | null,
  host: string | null,
  origin: string | null,
  accept: string | null,
  contentType: string | null,
  contentEncoding: string | null,
  sessionId: string | null,
  protocolVersion: string | null,
  headers: readonly string[],
];
type AnswerRow = readonly [
  row: 'answer',
  pipe: number,
  length: number,
  status: number,
  headers: AnswerHead['headers'],
];
type Row = RequestRow | AnswerRow | Exclude<Letter, { kind: 'request' } | { kind: 'answer' }>;

/** An envelope as text. */
export function writePost({ from, number, letters }: NodePost): string {
  let texts = '';
  const rows = letters.map((letter): Row => {
    if (letter.kind === 'answer') {
      const { pipe, head, text } = letter;
      texts += text;
      return ['answer', pipe, text.length, head.status, head.headers];
    }
    if (letter.kind !== 'request') return letter;
    const { pipe, request } = letter;
    texts += request.body;
    const { head } = request;
    return [
      'request',
      pipe,
      request.body.length,
      request.method,
      request.target,
      request.remoteAddress ?? null,
      request.principal ?? null,
      request.admittedMs ?? null,
      head.host ?? null,
      head.origin ?? null,
      head.accept ?? null,
      head.contentType ?? null,
      head.contentEncoding ?? null,
      head.sessionId ?? null,
      head.protocolVersion ?? null,
      request.headers,
    ];
  });
  return `${JSON.stringify([from, number, rows])}\n${texts}`;
}

/** An envelope from its text. */
export function readPost(post: string): NodePost {
  let at = post.indexOf('\n');
  const [from, number, rows] = JSON.parse(post.slice(0, at)) as [string, number, readonly Row[]];
  at += 1;
  const textOf = (length: number): string => {
    const text = post.slice(at, (at += length));
    return post.length > longPost ? copyOf(text) : text;
  };
  const letters = rows.map((row): Letter => {
    if ('kind' in row) return row;
    const pipe = row[1];
    const text = textOf(row[2]);
    if (row[0] === 'answer') {
      const head = { status: row[3], headers: row[4], isStream: false };
      return { kind: 'answer', pipe, head, text };
    }
    return { kind: 'request', pipe, request: requestOf(row, text) };
  });
  return { from, number, letters };
}

function requestOf(row: RequestRow, body: string): HandedRequest {
  return {
    method: row[3],
    target: row[4],
    remoteAddress: row[5] ?? undefined,
    principal: row[6] ?? undefined,
    admittedMs: row[7] ?? undefined,
    head: {
      host: row[8] ?? undefined,
      origin: row[9] ?? undefined,
      accept: row[10] ?? undefined,
      authorization: undefined,
      contentType: row[11] ?? undefined,
      contentEncoding: row[12] ?? undefined,
      sessionId: row[13] ?? undefined,
      protocolVersion: row[14] ?? undefined,
    },
    headers: row[15],
    body,
  };
}

/** Headers that are in the head of a request, by their names. */
export const headNames: ReadonlyMap<string, keyof RequestHead> = new Map([
  ['host', 'host'],
  ['origin', 'origin'],
  ['accept', 'accept'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['mcp-session-id', 'sessionId'],
  ['mcp-protocol-version', 'protocolVersion'],
]);

/** How many bytes of an answer may be on their way to the node that the client is connected to. */
export const windowBytes = 256 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A part of a text keeps all of it in memory. That of a post that is longer than this, in characters, does not. */
const longPost = 8192;

function copyOf(text: string): string {
  return decoder.decode(encoder.encode(text));
}

const window = new Uint8Array(windowBytes);

/** How much of a text has so many bytes at most, in whole characters: its units, and their bytes. */
export function beginningOf(text: string, bytes: number): { read: number; written: number } {
  return encoder.encodeInto(text, window.subarray(0, Math.max(0, bytes)));
}

/** The length of a text, bytes. */
export function lengthOf(text: string): number {
  return encoder.encode(text).length;
}
