/**
 * Stores shared by the nodes of an HTTP endpoint: a directory of sessions and owners, event logs,
 * and broadcasts. All other state belongs to the owner.
 *
 * Every promise settles within the store's time limit, and rejects with {@link StoreUnavailable} if
 * the store cannot be reached.
 */

/** Identity of a store's data. A store that was emptied or rolled back gets another name. */
export interface StoreEpoch {
  /** Constant as long as no data was lost. */
  readonly name: string;
  /** Time the name was assigned, store clock ms. */
  readonly sinceMs: number;
  /** Age of the name by the store's clock, milliseconds. */
  readonly ageMs: number;
}

/** Result of a lease request. */
export interface LeaseReply {
  /**
   * False if the lease had already expired. It is not renewed then: an expired name is never used
   * again.
   */
  readonly isHeld: boolean;
  /** End of the lease, store clock ms. */
  readonly untilMs: number;
  /** Identity of the store's data. */
  readonly store: StoreEpoch;
  /** Ids of sessions deleted since {@link LeaseRequest.removedSinceMs}. */
  readonly removed: readonly string[];
}

/** Address for requests forwarded to a node. */
export interface NodeAddress {
  /** URL of the node's endpoint, as other nodes reach it. */
  readonly url: string;
  /** Newest forwarding protocol version that the node supports. */
  readonly protocol: number;
}

/** Request for a lease. */
export interface LeaseRequest {
  /** Address of the node. */
  readonly address: NodeAddress;
  /** Store time up to which the node knows deletions, ms; 0 for none. */
  readonly removedSinceMs: number;
}

/** Stored session: its owner, and everything needed to restore it. Contains no token. */
export interface SessionRecord {
  /** Session id, as known to the client. */
  readonly id: string;
  /** Principal that owns the session; undefined without authorization. */
  readonly principal: string | undefined;
  /** Name of the owning node's lease; empty if there is no owner. */
  readonly owner: string;
  /**
   * Grows with each claim, even after the store lost some: only the node with the highest fence may
   * write.
   */
  readonly fence: number;
  /** Number of changes by the owner. */
  readonly revision: number;
  /** Facts about the client, as JSON by slot, such as `initialize` and `logLevel`. */
  readonly facts: { readonly [slot: string]: string };
}

/** Result of looking up a session id. */
export interface SessionLookup {
  /** Undefined if the session never existed, was deleted or has expired. */
  readonly record: Pick<SessionRecord, 'principal' | 'owner' | 'fence'> | undefined;
  /** True if the session was deleted and must not be restored. */
  readonly isRemoved: boolean;
  /** Address of the owner; undefined if its lease has expired. */
  readonly address: NodeAddress | undefined;
  /** Identity of the data that this was read from. */
  readonly store: StoreEpoch;
}

/** Change of one fact. */
export interface FactChange {
  /** Slot, such as `logLevel`. */
  readonly slot: string;
  /** JSON; undefined to clear the slot. */
  readonly text: string | undefined;
}

/**
 * Result of a write. `behind`: nothing was written, because the directory lacks an earlier change
 * or the session, or has a lower fence; {@link Directory.put} the whole session. `fenced`: another
 * node owns the session with a higher fence.
 */
export type WriteResult = 'written' | 'behind' | 'fenced';

/**
 * Directory of sessions, their owners and leases. Each method is one atomic change, or one read, of
 * a few rows, so that a transactional database can implement it.
 */
export interface Directory {
  /**
   * Takes a lease under a new name, renews one, or revives one in a store that lost it.
   *
   * @param how `reviveUntilMs`: revives the lease unless the store's clock is past this time
   */
  lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    request: LeaseRequest,
  ): Promise<LeaseReply>;
  /** Ends a lease immediately. */
  leave(node: string): Promise<void>;
  /** Looks up a session. Accepts any text. A deleted session has no record. */
  find(id: string): Promise<SessionLookup>;
  /** Looks up a node by the name of its lease. Accepts any text. */
  node(name: string): Promise<Pick<SessionLookup, 'address' | 'store'>>;
  /**
   * Makes a node the owner, if the fence and the store's data are unchanged since they were read.
   * The new fence is higher than any the session ever had. Undefined if another node was first, the
   * session is gone, or the store's data changed.
   */
  claim(
    id: string,
    node: string,
    read: { readonly fence: number; readonly store: string },
  ): Promise<SessionRecord | undefined>;
  /**
   * Stores a complete session, unless a newer revision of the same fence exists.
   *
   * @param untilMs end of the caller's lease, store clock ms: nothing is stored after it
   * @returns false if it is too late, or another node has a higher fence
   */
  put(record: SessionRecord, untilMs: number): Promise<boolean>;
  /**
   * Stores the change of this revision and renews the session. Without a change, only renews it.
   */
  write(
    at: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: FactChange,
  ): Promise<WriteResult>;
  /**
   * Deletes a session and its log.
   *
   * @returns false if another node has a higher fence, and nothing was deleted
   */
  remove(id: string, fence: number): Promise<boolean>;
  /** Records deleted sessions again, as the store may have lost them. */
  rememberRemoved(ids: readonly string[]): Promise<void>;
  /**
   * Signing key for nodes without a configured one.
   *
   * @param candidate becomes the key if there is none
   */
  secret(candidate: string): Promise<string>;
}

/** Event of a session's stream. */
export interface StreamEvent {
  /** Name of the stream. */
  readonly stream: string;
  /** Event number from 1; 0 is the start of the stream. */
  readonly number: number;
  /** Data of the event. */
  readonly text: string;
  /** Set if the stream ended with this event: with or without a response. */
  readonly end?: 'answered' | 'silenced' | undefined;
}

/** An event read from the log. */
export interface StoredEvent extends StreamEvent {
  /** Age of the event, milliseconds. */
  readonly ageMs: number;
}

/** Event logs of sessions. Only the owner writes one, and reads it after a claim. */
export interface StreamLog {
  /**
   * Appends events in call order. `behind`: the directory lacks the session, or has a lower fence;
   * nothing was written.
   */
  append(
    at: Pick<SessionRecord, 'id' | 'fence'>,
    entries: readonly StreamEvent[],
  ): Promise<WriteResult>;
  /** Replaces the whole log. */
  put(
    at: Pick<SessionRecord, 'id' | 'fence'>,
    entries: readonly StreamEvent[],
  ): Promise<WriteResult>;
  /** Reads the whole log, oldest event first. */
  read(id: string): Promise<readonly StoredEvent[]>;
}

/** Receiver of all nodes' broadcasts. */
export interface BroadcastListener {
  /** Called for each published text, including this node's own. */
  received(text: string): void;
  /** Called when texts may have been lost. */
  missed(): void;
}

/** Broadcast channel to all nodes; each text is delivered at most once. */
export interface Broadcasts {
  /** Sends a text to every subscribed node. */
  publish(text: string): Promise<void>;
  /** Subscribes this node. Called once. */
  subscribe(listener: BroadcastListener): Promise<void>;
}

/** Rate limits shared by all nodes. */
export interface CallCounts {
  /**
   * Counts one call, if every rate allows it. Each rate is a token bucket of `calls` tokens,
   * refilled within `perMs`.
   *
   * @param who quota key, such as a principal and a tool
   * @param rates rates by name
   * @returns milliseconds to wait before a retry; 0 if the call was counted
   * @throws {StoreUnavailable}
   */
  take(
    who: string,
    rates: ReadonlyMap<string, { readonly calls: number; readonly perMs: number }>,
  ): Promise<number>;
}

/** One node's access to the shared stores. */
export interface Stores {
  /** Duration of a lease without renewal, milliseconds. */
  readonly leaseMs: number;
  /** True if only processes of this machine share the store. */
  readonly isOneMachine?: boolean | undefined;
  /** Directory of sessions and their owners. */
  readonly directory: Directory;
  /** Event logs of the sessions' streams. */
  readonly log: StreamLog;
  /** Broadcasts to all nodes. */
  readonly broadcasts: Broadcasts;
  /** Shared rate limits. Without it, each node counts for itself. */
  readonly counts?: CallCounts | undefined;
  /** Local address of the connection to the store; undefined if it uses no network. */
  localAddress?(): Promise<string | undefined>;
  /** Closes all connections. Never rejects. */
  close(): Promise<void>;
}

/** Limits of the shared stores. */
export interface StoreLimits {
  /** Idle time until a session expires, milliseconds. */
  readonly idleMs: number;
  /** Maximum events per session. The oldest are dropped first, whatever their stream. */
  readonly maxEvents: number;
  /** Maximum total size of a session's events, bytes. */
  readonly maxBytes: number;
  /** Time an event is kept, milliseconds. */
  readonly maxAgeMs: number;
}

const defaultStoreLimits: StoreLimits = {
  idleMs: 30 * 60 * 1000,
  maxEvents: 1000,
  maxBytes: 4 * 1024 * 1024,
  maxAgeMs: 5 * 60 * 1000,
};

/**
 * Merges limits with the defaults.
 *
 * @throws {RangeError} if a limit is unknown or not a positive number
 */
export function storeLimits(given: Partial<StoreLimits> = {}): StoreLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultStoreLimits, name)) {
      const known = Object.keys(defaultStoreLimits).join(', ');
      throw new RangeError(`Unknown limit ${name} of the stores, must be one of ${known}`);
    }
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new RangeError(`${name} must be a positive number, got ${String(value)}`);
  }
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultStoreLimits, ...Object.fromEntries(changed) };
}

/**
 * Creates a name for a joining node. It is unguessable and unique, so that messages for an expired
 * node never reach its successor.
 */
export function newNodeName(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(12);
}

/** True for names in the format of {@link newNodeName}. */
export function isNodeName(text: string): boolean {
  return /^[\da-f]{20}$/.test(text);
}

const encoder = new TextEncoder();

/** Length of a text in UTF-8, bytes. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Runs an action for each item with limited concurrency, because a store accepts only so many
 * commands at once.
 */
export async function forEachConcurrently<T>(
  all: Iterable<T>,
  act: (one: T) => Promise<unknown>,
): Promise<void> {
  const rest = [...all].values();
  const lane = async (): Promise<void> => {
    for (const one of rest) await act(one);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

/** Why a store did not execute a command. */
export type StoreFault =
  /** Not connected. */
  | 'away'
  /** No answer in time. The command may still be executed. */
  | 'slow'
  /** The store is out of space, or cannot write. */
  | 'full'
  /** The command is unknown or not permitted: an installation error. */
  | 'refused'
  /** Too many commands are pending. */
  | 'busy'
  /** The store was closed at this node. */
  | 'closed';

/**
 * A store did not execute a command. Over HTTP the response is 503 with `Retry-After`; requests
 * that need no other node are still served.
 *
 * After `away`, `full`, `refused`, `busy` and `closed` nothing was changed. After `slow`, and after
 * `away` with a cause, the command may have been executed, so a retry may execute it twice.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** Why the command failed. */
  readonly fault: StoreFault;
  /** Delay before a retry, milliseconds. */
  readonly retryAfterMs: number;

  constructor(
    fault: StoreFault,
    message: string,
    options: { readonly retryAfterMs: number; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
  }
}
