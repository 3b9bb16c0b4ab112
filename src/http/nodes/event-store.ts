/** What was sent on the SSE streams of a session, so that a client that was cut off gets the rest. */
import type { RequestId } from '../../protocol/frames.ts';
import type { EventPlace } from './names.ts';

/** One event of a stream. Its writer counts them from 1, without a gap. */
export interface StreamEvent extends EventPlace {
  /** The event's data. */
  readonly text: string;
  /** The client's request that this answers. */
  readonly answers?: RequestId | undefined;
}

/**
 * How a stream stands:
 *
 * - `open`: its writer has more to say, if that is alive. `unanswered` are the client's requests
 *   that it still owes an answer.
 * - `ended`: nothing comes after what was replayed.
 * - `unknown`: it never was, or all of it has been dropped.
 */
export type StreamState =
  | { readonly kind: 'open'; readonly unanswered: readonly RequestId[] }
  | { readonly kind: 'ended' }
  | { readonly kind: 'unknown' };

/** What a store has of a stream from one place on. */
export interface Replay {
  /** What comes after the place, in order. Of the others some have been dropped if `missed` is not 0. */
  readonly events: readonly StreamEvent[];
  /** How many events after the place are no longer there, as far as the numbers tell. */
  readonly missed: number;
  /** Whether more may come. */
  readonly state: StreamState;
}

/** What a follower is told, in order. */
export type Followed =
  | { readonly kind: 'events'; readonly events: readonly StreamEvent[] }
  /** So many events were dropped before they could be read. */
  | { readonly kind: 'missed'; readonly count: number }
  /** The store is away. StreamFollower goes on when it is back. Told once per outage. */
  | { readonly kind: 'unavailable'; readonly retryAfterMs: number }
  /** Nothing more comes; this is the last. */
  | { readonly kind: 'ended' }
  /** The node that wrote the stream has died; this is the last. */
  | { readonly kind: 'ownerGone'; readonly unanswered: readonly RequestId[] }
  /** There is no such stream, or all of it has been dropped; this is the last. */
  | { readonly kind: 'unknown' };

/** How much is kept of a session's streams to repeat it. */
export interface EventLimits {
  /** Events of one session. The oldest give way, whatever their stream. */
  readonly maxEvents: number;
  /** Their texts together, bytes. */
  readonly maxBytes: number;
  /** How long an event is kept, milliseconds. */
  readonly maxAgeMs: number;
}

export const defaultEventLimits: EventLimits = {
  maxEvents: 1000,
  maxBytes: 4 * 1024 * 1024,
  maxAgeMs: 5 * 60 * 1000,
};

/**
 * The event logs of all sessions. A stream is written by the node in its name, which numbers the
 * events itself, sends them to its client and appends them without waiting: an append that fails
 * leaves a gap in the numbers, and a reader is told of it as `missed`.
 *
 * Every promise settles within the store's time limit. It rejects with `StoreUnavailable` if the
 * store could not be asked.
 */
export interface EventStore {
  /**
   * Notes a stream that begins, and the client's requests that it will answer. Await it before the
   * first event is sent: the client may resume the stream elsewhere as soon as it has an id of it.
   */
  open(session: string, stream: string, requests: readonly RequestId[]): Promise<void>;
  /** Resolves once every node can read the event. Appends of a node take effect in the order of their calls. */
  append(session: string, event: StreamEvent): Promise<void>;
  /** Notes that a stream is complete: `last` is the number of its last event. */
  end(session: string, last: EventPlace): Promise<void>;
  /**
   * What the log has of a stream after a place. It has everything that this node appended before
   * the call, unless that failed.
   */
  replay(session: string, after: EventPlace): Promise<Replay>;
  /**
   * Replays, and goes on with what is appended, until the stream ends or its writer is dead.
   * Meant for a stream that another node writes. It never throws.
   * @returns stops it; after that nothing more is told
   */
  follow(session: string, after: EventPlace, listener: (followed: Followed) => void): () => void;
  /** Drops all events of a session. */
  forget(session: string): Promise<void>;
}
