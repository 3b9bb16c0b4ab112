/** One HTTP request of a play, and the server's response. */
import type { RequestId } from 'mcp-actors';
import { idKey, isMessageId, messagesIn } from '../message.ts';

/** The purpose of an HTTP request. */
export type Purpose =
  /** A POST with a message, or with a line that is not a message. */
  | 'message'
  /** The GET of a client that listens. */
  | 'stream'
  /** A GET beside the one that listens already. */
  | 'second-stream'
  /** A GET with `Last-Event-ID`. */
  | 'resumption'
  /** The DELETE of a session. */
  | 'deletion'
  /** A GET or DELETE that the revision does not have. */
  | 'stray';

export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

export interface ObservedExchange {
  readonly purpose: Purpose;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** The parsed body that was sent; undefined without one and if it is not JSON. */
  readonly sent: unknown;
  /** The stream that a `resumption` continues. */
  readonly resumes: ObservedExchange | undefined;
  /** 0 until the server has answered. */
  readonly status: number;
  /** The type of the answer's content, without its parameters. */
  readonly contentType: string;
  /** `mcp-session-id`, `x-accel-buffering`, `www-authenticate`, … of the answer; lower case. */
  readonly headers: { readonly [name: string]: string | undefined };
  /** The body of the answer, unless it is a stream. */
  readonly body: string;
  /** What came on the stream. */
  readonly events: readonly SseEvent[];
  /**
   * `open`: more may come. `whole`: the server has ended it. `cut`: the connection broke. `closed`:
   * the client has closed it.
   */
  readonly outcome: 'open' | 'whole' | 'cut' | 'closed';
  /** Why the connection broke. */
  readonly failure: string | undefined;
}

export function isStream({ contentType, status }: ObservedExchange): boolean {
  return isSuccess(status) && contentType === 'text/event-stream';
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the server has too much to do, and has not looked at it. */
export function isTurnedAway({ status }: ObservedExchange): boolean {
  return status === 429 || status === 503;
}

/** The ids of the requests that it brought to the server. */
export function askedIn({ sent }: ObservedExchange): readonly RequestId[] {
  return messagesIn(sent).flatMap(({ id, method }) =>
    isMessageId(id) && typeof method === 'string' ? [id] : [],
  );
}

/** Whether it brought this request to the server. */
export function asks(exchange: ObservedExchange, id: RequestId): boolean {
  return askedIn(exchange).some((asked) => idKey(asked) === idKey(id));
}

/** How much of a body people read, characters. */
const shownBody = 160;

/** An answer in words: `HTTP 400, text/plain: Bad Request`. */
export function answerText({
  status,
  contentType,
  body,
  failure,
  outcome,
}: ObservedExchange): string {
  if (status === 0) return `no answer of HTTP${failure ? ` (${failure})` : ''}`;
  const type = contentType === '' ? '' : `, ${contentType}`;
  const text = body.trim().replaceAll(/\s+/g, ' ');
  const told = text.length > shownBody ? `${text.slice(0, shownBody)}…` : text;
  const end = outcome === 'cut' ? ', cut before its end' : '';
  return `HTTP ${status}${type}${end}${told === '' ? '' : `: ${told}`}`;
}
