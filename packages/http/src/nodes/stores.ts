/**
 * What the nodes of an HTTP endpoint share: a directory of sessions and their owners, the event logs of
 * sessions, and broadcasts. Everything else belongs to the owner.
 *
 * Every promise settles within the store's time limit. It rejects with {@link StoreUnavailable} if
 * the store could not be asked.
 */

/** Which data a store has. A store that was emptied, or went back to older data, has another name. */
export interface StoreEpoch {
  /** The same as long as nothing was lost. */
  readonly name: string;
  /** Since when it has this name, the store's milliseconds. */
  readonly sinceMs: number;
  /** How long that is ago, by the store's clock. */
  readonly ageMs: number;
}

/** What became of a node's lease. */
export interface LeaseReply {
  /** False if it was over already. It is not prolonged then: a name that was over never lives again. */
  readonly isHeld: boolean;
  /** When it ends, the store's milliseconds. */
  readonly untilMs: number;
  /** Which data the store has. */
  readonly store: StoreEpoch;
  /** The ids of sessions that were removed since {@link LeaseRequest.removedSinceMs}. */
  readonly removed: readonly string[];
}

/** Where a node takes the requests that other nodes forward to it. */
export interface NodeAddress {
  /** The URL of the node's endpoint, as other nodes reach it. */
  readonly url: string;
  /** The newest version of the forwarding protocol that the node accepts. */
  readonly protocol: number;
}

/** A node that asks for a lease. */
export interface LeaseRequest {
  /** Where other nodes reach it. */
  readonly address: NodeAddress;
  /** Up to when the node knows the sessions that were removed, the store's milliseconds; 0 for none. */
  readonly removedSinceMs: number;
}

/** What has to be known of a session to bring it back, and who has it. It holds no token. */
export interface SessionRecord {
  /** The session's id, as its client knows it. */
  readonly id: string;
  /** Who may use it. Undefined if requests are not authenticated. */
  readonly principal: string | undefined;
  /** The node that has it, by the name of its lease; empty if it is unowned. */
  readonly owner: string;
  /** Grows with each claim, also if the store has forgotten some: the node with the highest may write. */
  readonly fence: number;
  /** Counts the owner's changes. */
  readonly revision: number;
  /** What its client has said, as JSON by slots, such as `initialize` and `logLevel`. */
  readonly facts: { readonly [slot: string]: string };
}

/** What the directory knows of an id. */
export interface Found {
  /** Undefined if there is none: it never was, was removed, or has expired. */
  readonly record: Pick<SessionRecord, 'principal' | 'owner' | 'fence'> | undefined;
  /** True if it was removed: nobody brings it back. */
  readonly isRemoved: boolean;
  /** Where its owner is; undefined if the owner's lease is over. */
  readonly address: NodeAddress | undefined;
  /** Which data this was read from. */
  readonly store: StoreEpoch;
}

/** A change of one slot. */
export interface FactChange {
  /** What it is, such as `logLevel`. */
  readonly slot: string;
  /** JSON; undefined if the slot is emptied. */
  readonly text: string | undefined;
}

/**
 * What became of a change. `behind`: the directory lacks an earlier one, or all of the session, or has
 * it with a lower fence, and has changed nothing: {@link Directory.put} all. `fenced`: another node owns
 * the session, with a higher fence.
 */
export type Written = 'written' | 'behind' | 'fenced';

/**
 * Who owns which session, until when, and what is known of it. Each method is one atomic change, or one read, of
 * a few rows: a database with transactions can implement it.
 */
export interface Directory {
  /**
   * Takes a lease under a new name, prolongs one, or takes it again from a store that has lost it.
   * @param reviveUntilMs takes it again, unless the store's clock is past this
   */
  lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    request: LeaseRequest,
  ): Promise<LeaseReply>;
  /** Ends a lease at once. */
  leave(node: string): Promise<void>;
  /** Any text may be asked for. A session that was removed is not found again, whatever its record says. */
  find(id: string): Promise<Found>;
  /** Finds a node by the name of its lease. Any text may be asked for. */
  node(name: string): Promise<Pick<Found, 'address' | 'store'>>;
  /**
   * Makes a node the owner, if the fence is still the same, in the data that this was read from. The
   * new fence is higher than any that the session has ever had. Undefined if somebody was first, if the
   * session is gone, or if the store has other data by now.
   */
  claim(
    id: string,
    node: string,
    read: { readonly fence: number; readonly store: string },
  ): Promise<SessionRecord | undefined>;
  /**
   * Stores all of a session. A younger revision of the same fence stays.
   * @param untilMs when the caller's lease ends, the store's milliseconds: nothing is stored after that
   * @returns false if it is too late, or another node has a higher fence
   */
  put(record: SessionRecord, untilMs: number): Promise<boolean>;
  /**
   * Adds the change that makes this revision. The session counts as used. Without a change it only says that.
   */
  write(
    at: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: FactChange,
  ): Promise<Written>;
  /**
   * Ends a session and its log for good.
   * @returns false if somebody has a higher fence: nothing is removed
   */
  remove(id: string, fence: number): Promise<boolean>;
  /** Writes down again which sessions were removed: the store may have lost that. */
  rememberRemoved(ids: readonly string[]): Promise<void>;
  /**
   * The key that the nodes sign with if they have none in common.
   * @param candidate becomes the key if there is none
   */
  secret(candidate: string): Promise<string>;
}

/** What a stream of a session has said. */
export interface StreamEvent {
  /** The name of the stream. */
  readonly stream: string;
  /** Its events are 1, 2, 3 and so on; 0 is its beginning. */
  readonly number: number;
  /** The event's data. */
  readonly text: string;
  /** Whether the stream has ended with it: with the answer, or without one. Absent if it goes on. */
  readonly end?: 'answered' | 'silenced' | undefined;
}

/** An entry as it is read. */
export interface StoredEvent extends StreamEvent {
  /** How long ago it was written, milliseconds. */
  readonly ageMs: number;
}

/** The event logs of sessions. Only the owner writes, and reads when it has claimed one. */
export interface StreamLog {
  /** Appends, in the order of the calls. `behind`: the directory lacks the session, or has a lower fence, and nothing was written. */
  append(
    at: Pick<SessionRecord, 'id' | 'fence'>,
    entries: readonly StreamEvent[],
  ): Promise<Written>;
  /** Keeps these in the place of all that it has. */
  put(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly StreamEvent[]): Promise<Written>;
  /** All that is kept, the oldest first. */
  read(id: string): Promise<readonly StoredEvent[]>;
}

/** What a node hears of the broadcasts of all nodes. */
export interface BroadcastListener {
  /** A text that a node has published, this one included. */
  received(text: string): void;
  /** Texts may have been lost on their way to this node. */
  missed(): void;
}

/** Texts for all nodes, each delivered at most once. */
export interface Broadcasts {
  /** Sends a text to every node that listens now. */
  publish(text: string): Promise<void>;
  /** Called once. */
  subscribe(listener: BroadcastListener): Promise<void>;
}

/** Counts calls for all nodes. */
export interface CallCounts {
  /**
   * Counts one more call, if each of the rates allows it: as many calls as it says may come at once, and so many in
   * its time on average.
   *
   * @param who what is counted together, such as a principal and a tool
   * @param rates by what tells them apart, each so many calls in so long a time
   * @returns how long to wait before the next try, milliseconds; 0: it was counted
   * @throws {StoreUnavailable}
   */
  take(
    who: string,
    rates: ReadonlyMap<string, { readonly calls: number; readonly perMs: number }>,
  ): Promise<number>;
}

/** What one node has of what all nodes share. */
export interface Stores {
  /** How long a lease lasts without a sign of life, milliseconds. */
  readonly leaseMs: number;
  /** Who owns which session. */
  readonly directory: Directory;
  /** What their streams have said. */
  readonly log: StreamLog;
  /** Texts for all nodes. */
  readonly broadcasts: Broadcasts;
  /** Counts the calls of all nodes. Without it, each node counts for itself. */
  readonly counts?: CallCounts | undefined;
  /** The address that this machine reaches the store from; undefined if that leads over no network. */
  localAddress?(): Promise<string | undefined>;
  /** Closes the connections. Never rejects. */
  close(): Promise<void>;
}

/** The bounds of what nodes share. */
export interface StoreLimits {
  /** Quiet time until a session expires, milliseconds. */
  readonly idleMs: number;
  /** Events of one session. The oldest give way, whatever their stream. */
  readonly maxEvents: number;
  /** Their texts together, bytes. */
  readonly maxBytes: number;
  /** How long an event is kept, milliseconds. */
  readonly maxAgeMs: number;
}

const defaultStoreLimits: StoreLimits = {
  idleMs: 30 * 60 * 1000,
  maxEvents: 1000,
  maxBytes: 4 * 1024 * 1024,
  maxAgeMs: 5 * 60 * 1000,
};

/**
 * The defaults with these in their places.
 * @throws {RangeError} a limit does not exist, or is not a positive number
 */
export function storeLimits(given: Partial<StoreLimits> = {}): StoreLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultStoreLimits, name)) {
      const known = Object.keys(defaultStoreLimits).join(', ');
      throw new RangeError(`There is no limit ${name} of the stores; the limits are ${known}`);
    }
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new RangeError(`${name} must be a positive number, this is ${String(value)}`);
  }
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultStoreLimits, ...Object.fromEntries(changed) };
}

/**
 * A name for a node that joins now. It cannot be guessed, and no node had it before: what was meant
 * for a node whose lease is over never reaches the one that takes its place.
 */
export function newNodeName(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(12);
}

/** True for a text that {@link newNodeName} may have made. */
export function isNodeName(text: string): boolean {
  return /^[\da-f]{20}$/.test(text);
}

const encoder = new TextEncoder();

/** The length of a text in UTF-8, bytes. */
export function lengthOf(text: string): number {
  return encoder.encode(text).length;
}

/** Does it for all of them, a few at once: a store takes only so many commands. */
export async function forEachAtStore<T>(
  all: Iterable<T>,
  act: (one: T) => Promise<unknown>,
): Promise<void> {
  const rest = [...all].values();
  const lane = async (): Promise<void> => {
    for (const one of rest) await act(one);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

/** Why a store did not do what it was asked for. */
export type StoreFault =
  /** There is no connection to it. */
  | 'away'
  /** It did not answer in time. It may still do what it was asked for. */
  | 'slow'
  /** It answered that it has no room, or cannot write. */
  | 'full'
  /** It does not allow or does not know what it was asked for: the installation is at fault. */
  | 'refused'
  /** Too much waits for its answers already. */
  | 'busy'
  /** It was closed at this node. */
  | 'closed';

/**
 * A store could not do what it was asked for. HTTP answers with 503 and `Retry-After`. Requests that
 * need nothing of other nodes go on meanwhile.
 *
 * After `away`, `full`, `refused`, `busy` and `closed` nothing has been changed. After `slow` that is unknown,
 * and also if the connection broke before the answer came (`away`, with a cause): a caller that
 * tries again may be heard twice.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** What the store did not do. */
  readonly fault: StoreFault;
  /** When to try again, milliseconds from now. */
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
