/**
 * The view of a writer over HTTP: the connections that carry the session's output. Created on each
 * access, JSON-serializable, and free of credentials. Times are milliseconds.
 */
import type { RequestId } from '../../protocol/frames.ts';

/** A stream of server-sent events (SSE). */
export interface HttpStreamView {
  /** `post`: answers requests. `get`: carries messages unrelated to requests. */
  readonly kind: 'post' | 'get';
  /** Name of the stream in its session. */
  readonly name?: string;
  /** Ids of the requests to answer on this stream. */
  readonly answers: readonly RequestId[];
  /**
   * `open`: connected. `cut`: disconnected, and the client may resume it. `ended`: complete; its
   * stored events may still be requested.
   */
  readonly state: 'open' | 'cut' | 'ended';
  /** Time in that state. */
  readonly ageMs: number;
  /** Bytes that the client has not read, and the time since it last read any. */
  readonly unreadBytes: number;
  readonly unreadMs: number;
  /** Number of events stored for redelivery. */
  readonly keptEvents: number;
  /** Principal id, if the streams may belong to several principals. */
  readonly principal?: string;
}

interface HttpLevel {
  readonly count: number;
  readonly max: number;
}

/** A session with an `Mcp-Session-Id`. */
export interface HttpSessionView {
  readonly kind: 'session';
  /** Beginning of the id; see {@link shortenedId}. */
  readonly id: string;
  /**
   * State of the `http-session` machine: `initializing`, `unused`, `active`, `idle`, `expired`,
   * `closed`.
   */
  readonly state: string;
  /** Time since the client's last message or the end of its last answer. */
  readonly quietMs: number;
  /** Id of the principal that owns the session. */
  readonly principal?: string;
  /** Unanswered POSTs, including those answered by a stream. */
  readonly due: number;
  readonly streams: readonly HttpStreamView[];
  /** Messages queued until a GET stream opens. */
  readonly waitingPushes: HttpLevel;
  /** Events stored for redelivery, of all streams. */
  readonly keptEvents: HttpLevel;
  readonly keptBytes: HttpLevel;
}

/** All sessionless requests of one server. */
export interface HttpRequestsView {
  readonly kind: 'requests';
  /** Number of requests received. */
  readonly served: number;
  /** Number of unanswered requests. */
  readonly due: number;
  readonly streams: readonly HttpStreamView[];
  /** Unanswered requests by principal id. */
  readonly dueOf: { readonly [principal: string]: number };
}

export type HttpView = HttpSessionView | HttpRequestsView;

/** Characters shown of a session id: enough to distinguish sessions, too few to guess the rest. */
const shownLength = 8;

/**
 * The beginning of a session id. The whole id must stay secret, because it grants access to the
 * session.
 */
export function shortenedId(id: string): string {
  return `${id.slice(0, Math.min(shownLength, id.length / 4))}…`;
}
