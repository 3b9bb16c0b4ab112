/**
 * What the nodes of an HTTP endpoint share: a directory that says who owns a session, a log of what
 * its streams have said, and an inbox for each node. Everything else is the owner's.
 *
 * Every promise settles within the store's time limit. It rejects with {@link StoreUnavailable} if
 * the store could not be asked.
 */

/** Which data a store has. A store that was emptied, or went back to older data, has another name. */
export interface StoreAge {
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
  readonly store: StoreAge;
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
  /** Whether the owner's lease lasts. */
  readonly isOwned: boolean;
  /** Which data this was read from. */
  readonly store: StoreAge;
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

/** Who owns which session, until when, and what is known of it. */
export interface Directory {
  /**
   * Takes a lease under a new name, prolongs one, or takes it again from a store that has lost it.
   * @param reviveUntilMs takes it again, unless the store's clock is past this
   */
  lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
  ): Promise<LeaseReply>;
  /** Ends a lease at once. */
  leave(node: string): Promise<void>;
  /** Any text may be asked for. */
  find(id: string): Promise<Found>;
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
  /** Ends a session and its log, unless somebody has a higher fence. */
  remove(id: string, fence: number): Promise<void>;
}

/** What a stream of a session has said. */
export interface LoggedText {
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
export interface KeptText extends LoggedText {
  /** How long ago it was written, milliseconds. */
  readonly ageMs: number;
}

/** The event logs of sessions. Only the owner writes, and reads when it has claimed one. */
export interface StreamLog {
  /** Appends, in the order of the calls. `behind`: the directory lacks the session, or has a lower fence, and nothing was written. */
  append(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly LoggedText[]): Promise<Written>;
  /** Keeps these in the place of all that it has. */
  put(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly LoggedText[]): Promise<Written>;
  /** All that is kept, the oldest first. */
  read(id: string): Promise<readonly KeptText[]>;
}

/** What comes out of an inbox. */
export interface NodeInboxListener {
  /**
   * Texts, in the order in which each sender has sent them. One that was sent twice may come twice.
   * @param withdrawn marks that senders have taken back
   */
  received(texts: readonly string[], withdrawn: ReadonlySet<string>): void;
}

/** One inbox for each node, for as long as its lease lasts. */
export interface NodeInbox {
  /** Opens the inbox of this name, in the place of an earlier one of this node. */
  open(node: string, listener: NodeInboxListener): Promise<void>;
  /** Says that its node lives. */
  prolong(node: string): Promise<void>;
  /** Closes it, and drops what is in it. */
  close(node: string): Promise<void>;
  /**
   * Puts a text into another node's inbox. An empty one only asks whether there is an inbox.
   * @returns its place; undefined if the other node has no inbox
   */
  send(node: string, text: string): Promise<string | undefined>;
  /**
   * Takes something back: it is not served, if the node has not taken the place out yet.
   * @returns false if it has, or nobody knows
   */
  withdraw(node: string, place: string, mark: string): Promise<boolean>;
  /** The names of all nodes that may have one, but for this node's. */
  others(node: string): Promise<readonly string[]>;
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
  /** What nodes have to say to each other. */
  readonly inbox: NodeInbox;
  /** Counts the calls of all nodes. Without it, each node counts for itself. */
  readonly counts?: CallCounts | undefined;
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

/** Whether a text may be the name of a node. */
export function isNodeName(text: string): boolean {
  return /^[\da-f]{20}$/.test(text);
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
