/** What all nodes have to know of a session. */

/**
 * Something that the client has said and that a replica has to know. A later entry in the same slot
 * takes the place of the earlier one.
 */
export interface JournalEntry {
  /** `initialize`, `initialized`, `logLevel`, `roots`, `subscription:<uri>`. */
  readonly slot: string;
  /** The session's version with this entry: 1 for `initialize`, and higher with each change. */
  readonly version: number;
  /** JSON, as the replica is fed with it. */
  readonly text: string;
}

/** A session as the store has it. It holds no token. */
export interface SessionRecord {
  /** The session's id, as its client knows it. */
  readonly id: string;
  /** Who may use it. Undefined if requests are not authenticated. */
  readonly principal: string | undefined;
  /** The negotiated revision. */
  readonly revision: string;
  /** Of its last change. A removed entry is a change too. */
  readonly version: number;
  /** By version. */
  readonly journal: readonly JournalEntry[];
}

/** A session that begins. */
export type NewSession = Pick<SessionRecord, 'id' | 'principal' | 'revision'> & {
  /** The params of its `initialize`, as JSON. */
  readonly initialize: string;
};

/** What became of a new session. */
export type Creation =
  | {
      readonly kind: 'created';
      /** Sessions that were removed to make room: they had been quiet for longest. */
      readonly evicted: readonly string[];
    }
  /** As many sessions as there may be, and all of them in use. */
  | { readonly kind: 'full'; readonly retryAfterMs: number };

/** What became of a change. */
export type Update =
  | { readonly kind: 'updated'; readonly version: number }
  /** There is no such session: it was removed or has expired. */
  | { readonly kind: 'gone' }
  /** The journal would be longer than it may be. Nothing was changed. */
  | { readonly kind: 'full'; readonly maxBytes: number };

/** A session that this node has a replica of. */
export interface HeldSession {
  /** The session. */
  readonly id: string;
  /** The version that its replica has. */
  readonly version: number;
}

/** What a node learns about the sessions that it uses. */
export interface TouchReport {
  /** Removed or expired: end them here too. */
  readonly gone: readonly string[];
  /** Changed by another node whose letter has not come: load them and bring the replica up. */
  readonly changed: readonly string[];
  /** Not there because the store has lost its data since the last touch: {@link SessionStore.restore} them. */
  readonly lost: readonly string[];
}

/** How many sessions are kept, and for how long. */
export interface SessionStoreLimits {
  /** Sessions of all nodes. */
  readonly maxSessions: number;
  /** Quiet time until a session expires, milliseconds. */
  readonly idleMs: number;
  /** Quiet time after which a session may be removed to make room, milliseconds. Nodes touch what they use more often. */
  readonly evictableMs: number;
  /** The journal of one session, bytes. */
  readonly maxJournalBytes: number;
}

export const defaultSessionLimits: SessionStoreLimits = {
  maxSessions: 10_000,
  idleMs: 30 * 60 * 1000,
  evictableMs: 60 * 1000,
  maxJournalBytes: 256 * 1024,
};

/**
 * The sessions of all nodes. What it has told is true for all nodes from then on; how long that
 * outlives the store's own process is the store's matter.
 *
 * Every promise settles within the store's time limit. It rejects with `StoreUnavailable` if the
 * store could not be asked.
 */
export interface SessionStore {
  /** Stores a new session, with `initialize` as its journal. */
  create(session: NewSession): Promise<Creation>;
  /** Undefined if there is none: it was never there, was removed, or has expired. Any text may be asked for. */
  load(id: string): Promise<SessionRecord | undefined>;
  /**
   * Adds an entry to the journal, or with `undefined` removes it. The session counts as used.
   * The node that updates tells the others by a letter; {@link touch} finds what no letter has told.
   */
  update(id: string, slot: string, text: string | undefined): Promise<Update>;
  /**
   * Says that sessions are in use, so that they neither expire nor are removed to make room. A node
   * does so for all that it has served since the last time, or that have a stream or a call, in one
   * go, a few times in `evictableMs`; never per request.
   */
  touch(sessions: readonly HeldSession[]): Promise<TouchReport>;
  /** Puts a session back that the store has lost. A younger version of it stays. */
  restore(record: SessionRecord): Promise<void>;
  /** Ends a session for all nodes. False if it was not there. */
  remove(id: string): Promise<boolean>;
}
