/**
 * What the writer of a session over HTTP shows as its view: the connections that carry what the
 * session says. It is made when it is read, as JSON can represent it, and holds nothing that
 * authenticates anybody. Times are milliseconds.
 */
import type { RequestId } from '../../protocol/frames.ts';

/** A stream of server-sent events. */
export interface HttpStreamView {
  /** `post`: it answers requests. `get`: it carries what belongs to no request. */
  readonly kind: 'post' | 'get';
  /** Of the stream of a session. */
  readonly name?: string;
  /** The requests that it answers. */
  readonly answers: readonly RequestId[];
  /**
   * `open`: it has a connection. `cut`: it has none, and the client may come back to it. `ended`: all
   * is said; what is kept of it may be asked for.
   */
  readonly state: 'open' | 'cut' | 'ended';
  /** The time in that state. */
  readonly ageMs: number;
  /** What its client has not taken, bytes, and the time since it has taken any. */
  readonly unreadBytes: number;
  readonly unreadMs: number;
  /** How many of its events are kept, so that they can be repeated. */
  readonly keptEvents: number;
  /** The id of the principal, if the streams may be those of several. */
  readonly principal?: string;
}

interface HttpLevel {
  readonly count: number;
  readonly max: number;
}

/** A session that its client knows by an id. */
export interface HttpSessionView {
  readonly kind: 'session';
  /** The beginning of the id: see {@link shortenedId}. */
  readonly id: string;
  /** Of the `http-session` machine: `initializing`, `unused`, `active`, `idle`, `expired`, `closed`. */
  readonly state: string;
  /** The time since the client was heard of, or its last answer ended. */
  readonly quietMs: number;
  /** The id of the principal that it belongs to. */
  readonly principal?: string;
  /** POSTs that are not answered yet, those included that are answered by a stream. */
  readonly due: number;
  readonly streams: readonly HttpStreamView[];
  /** Messages that wait for a GET stream. */
  readonly waitingPushes: HttpLevel;
  /** What is kept of all streams, so that it can be repeated. */
  readonly keptEvents: HttpLevel;
  readonly keptBytes: HttpLevel;
}

/** All requests of one server that belong to no session. */
export interface HttpRequestsView {
  readonly kind: 'requests';
  /** How many have come. */
  readonly served: number;
  /** How many are not answered yet. */
  readonly due: number;
  readonly streams: readonly HttpStreamView[];
  /** Those that are not answered yet, by the id of their principal. */
  readonly dueOf: { readonly [principal: string]: number };
}

export type HttpView = HttpSessionView | HttpRequestsView;

/** So much of an id tells sessions apart, and leaves the rest unguessable. */
const shownLength = 8;

/** The beginning of a session's id: anyone who knows all of it can use the session. */
export function shortenedId(id: string): string {
  return `${id.slice(0, Math.min(shownLength, id.length / 4))}…`;
}
