/** One HTTP request of a play with its response. */
import type { RequestId } from 'mcp-actors';
import { idKey, isMessageId, messagesIn } from '../message.ts';

/** Purpose of an HTTP request. */
export type Purpose =
  /** A POST with a message, or with a line that is not a message. */
  | 'message'
  /** The client's regular GET stream. */
  | 'stream'
  /** An additional GET stream. */
  | 'second-stream'
  /** A GET with `Last-Event-ID`. */
  | 'resumption'
  /** The DELETE of a session. */
  | 'deletion'
  /** A GET or DELETE that the revision does not define. */
  | 'stray';

export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

export interface ObservedExchange {
  readonly purpose: Purpose;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Parsed request body; undefined without one or if it is not JSON. */
  readonly sent: unknown;
  /** The stream that a `resumption` continues. */
  readonly resumes: ObservedExchange | undefined;
  /** 0 until the server has responded. */
  readonly status: number;
  /** Content type of the response without parameters. */
  readonly contentType: string;
  /**
   * Response headers by lower-case name: `mcp-session-id`, `x-accel-buffering`, `www-authenticate`
   * and others.
   */
  readonly headers: { readonly [name: string]: string | undefined };
  /** Response body, unless it is a stream. */
  readonly body: string;
  /** Events received on the stream. */
  readonly events: readonly SseEvent[];
  /**
   * `open`: more may arrive. `whole`: the server ended it. `cut`: the connection broke. `closed`:
   * the client closed it.
   */
  readonly outcome: 'open' | 'whole' | 'cut' | 'closed';
  /** Reason the connection broke. */
  readonly failure: string | undefined;
}

export function isStream({ contentType, status }: ObservedExchange): boolean {
  return isSuccess(status) && contentType === 'text/event-stream';
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True if the server rejected the request as overload without processing it. */
export function isOverloaded({ status }: ObservedExchange): boolean {
  return status === 429 || status === 503;
}

/** Ids of the requests it carried to the server. */
export function requestIdsIn({ sent }: ObservedExchange): readonly RequestId[] {
  return messagesIn(sent).flatMap(({ id, method }) =>
    isMessageId(id) && typeof method === 'string' ? [id] : [],
  );
}

/** True if it carried this request to the server. */
export function asks(exchange: ObservedExchange, id: RequestId): boolean {
  return requestIdsIn(exchange).some((asked) => idKey(asked) === idKey(id));
}

/** Characters shown of a body. */
const shownBody = 160;

/** Formats a response: `HTTP 400, text/plain: Bad Request`. */
export function formatResponse({
  status,
  contentType,
  body,
  failure,
  outcome,
}: ObservedExchange): string {
  if (status === 0) return `no HTTP response${failure ? ` (${failure})` : ''}`;
  const type = contentType === '' ? '' : `, ${contentType}`;
  const text = body.trim().replaceAll(/\s+/g, ' ');
  const told = text.length > shownBody ? `${text.slice(0, shownBody)}…` : text;
  const end = outcome === 'cut' ? ', cut before its end' : '';
  return `HTTP ${status}${type}${end}${told === '' ? '' : `: ${told}`}`;
}
