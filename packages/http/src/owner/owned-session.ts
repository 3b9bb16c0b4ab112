/**
 * The stored form of one session, from which another node can continue: facts about the client,
 * stored before they are acknowledged, and the events of its streams.
 */
import { turnEnd } from '../../../../src/actors/clock.ts';
import type { HttpReport } from '../facts.ts';
import { StoreUnavailable, utf8Length } from '../nodes/stores.ts';
import type {
  FactChange,
  StreamEvent,
  SessionRecord,
  Stores,
  StreamLog,
  WriteResult,
} from '../nodes/stores.ts';
import { reportUnavailable } from './store-errors.ts';

/** The running session behind a stored one. */
export interface LocalSession {
  /** Events that another node needs to continue its streams. */
  readonly loggedEvents: readonly StreamEvent[];
  /** Ends the session here and tells the client to reconnect, because another node may serve it. */
  abandon(): void;
}

/** The owner of sessions, as each session uses it. */
export interface SessionOwner {
  readonly stores: Stores;
  readonly report: HttpReport;
  /** Name of the node's lease. */
  readonly node: string;
  has(session: OwnedSession): boolean;
  begin(session: OwnedSession): Promise<void>;
  put(session: OwnedSession): Promise<boolean>;
  remove(session: OwnedSession): Promise<void>;
  handOver(session: OwnedSession, owner: string): Promise<void>;
  forget(session: OwnedSession): void;
  markLost(session: OwnedSession): StoreUnavailable;
  markUnsynced(session: OwnedSession): void;
  touch(session: OwnedSession): void;
  track(done: Promise<unknown>): void;
}

/** Maximum size of a session's facts, bytes. */
const maxRecordBytes = 256 * 1024;

/** A session owned by this node. */
export class OwnedSession {
  readonly id: string;
  readonly principal: string | undefined;
  readonly fence: number;
  readonly localSession: LocalSession;
  readonly #owner: SessionOwner;
  readonly #facts = new Map<string, string>();
  /** Total size of the facts, bytes. */
  #bytes = 0;
  #revision: number;
  /** Events of this turn that are not stored yet. */
  #unflushed: StreamEvent[] = [];
  /** Settles when this turn's events are stored, or cannot be. */
  #flushing: Promise<void> | undefined = undefined;
  /** Time of the last write, clock ms. */
  touchedAt: number;

  /** @param from stored record of a restored session */
  constructor(
    who: Pick<SessionRecord, 'id' | 'principal'>,
    localSession: LocalSession,
    owner: SessionOwner,
    now: number,
    from?: SessionRecord,
  ) {
    this.id = who.id;
    this.principal = who.principal;
    this.localSession = localSession;
    this.#owner = owner;
    this.touchedAt = now;
    this.fence = from?.fence ?? firstFence;
    this.#revision = from?.revision ?? 0;
    for (const [slot, text] of Object.entries(from?.facts ?? {})) this.#set({ slot, text });
  }

  get view(): unknown {
    return [this.record, this.#unflushed];
  }

  /** True while this node may serve the session. Otherwise it has ended here. */
  get isServedHere(): boolean {
    return this.#revision === 0 || this.#owner.has(this);
  }

  get node(): string {
    return this.#owner.node;
  }

  get record(): SessionRecord {
    const { id, principal, fence } = this;
    const facts = Object.fromEntries(this.#facts);
    return { id, principal, fence, owner: this.node, revision: this.#revision, facts };
  }

  /**
   * Stores the new session.
   *
   * @throws {StoreUnavailable}
   */
  begin(facts: readonly FactChange[]): Promise<void> {
    for (const { slot, text = '' } of facts) this.#set({ slot, text });
    this.#revision = 1;
    return this.#owner.begin(this);
  }

  /**
   * Stores changes by the client. They may be acknowledged once the promise resolves.
   *
   * @throws {StoreUnavailable}
   */
  async saveChanges(changes: readonly FactChange[]): Promise<void> {
    for (const change of changes) await this.#saveChange(change);
  }

  /** Schedules a renewal in the store, because the session is in use. */
  touch(now: number): void {
    this.touchedAt = now;
    this.#owner.touch(this);
  }

  /**
   * Renews the session's time to live in the store.
   *
   * @throws {StoreUnavailable}
   */
  renew(): Promise<void> {
    return this.#write();
  }

  /**
   * Deletes the session for all nodes.
   *
   * @throws {StoreUnavailable}
   */
  remove(): Promise<void> {
    return this.#owner.remove(this);
  }

  /**
   * Hands the session over to another node.
   *
   * @throws {StoreUnavailable}
   */
  handOver(owner: string): Promise<void> {
    return this.#owner.handOver(this, owner);
  }

  /** Releases the session here without deleting it. */
  release(): void {
    this.#owner.forget(this);
  }

  /**
   * Stores an event, so that another node can replay it.
   *
   * @returns settles when the event is stored, or cannot be; only the start of a stream waits for
   *   it
   */
  append(entry: StreamEvent): Promise<void> {
    this.#unflushed.push(entry);
    return (this.#flushing ??= turnEnd.then(this.#flush));
  }

  /** Restores the session in a store that lost data. */
  async restore(): Promise<void> {
    if (this.isServedHere && (await this.#owner.put(this))) await this.restoreLog();
  }

  /** Replaces the stored log with all events known here, including those of this turn. */
  restoreLog(): Promise<void> {
    this.#unflushed = [];
    return this.#writeLog((log) => log.put(this, this.localSession.loggedEvents));
  }

  readonly #flush = async (): Promise<void> => {
    const entries = this.#unflushed;
    this.#unflushed = [];
    this.#flushing = undefined;
    if (!this.isServedHere || entries.length === 0) return;
    const keeping = this.#writeLog((log) => log.append(this, entries));
    this.#owner.track(keeping);
    const what = `Events of the session ${this.id} could not be stored for other nodes`;
    await keeping.catch(reportUnavailable(this.#owner.report, what));
  };

  async #writeLog(write: (log: StreamLog) => Promise<WriteResult>): Promise<void> {
    try {
      const written = await write(this.#owner.stores.log);
      if (written === 'fenced') this.#owner.markLost(this);
      if (written === 'behind') await this.restore();
    } catch (error) {
      this.#owner.markUnsynced(this);
      throw error;
    }
  }

  async #saveChange(change: FactChange): Promise<void> {
    const { slot, text } = change;
    const before = this.#facts.get(slot);
    if (before === text) return;
    const bytes = this.#bytes + sizeOf(change) - sizeOf({ slot, text: before });
    if (text !== undefined && bytes > maxRecordBytes) {
      const message = `the stored facts of a session must not exceed ${maxRecordBytes} bytes`;
      throw new StoreUnavailable('full', message, { retryAfterMs: 10_000 });
    }
    this.#set(change);
    this.#revision++;
    await this.#write(change);
  }

  #set({ slot, text }: FactChange): void {
    this.#bytes += sizeOf({ slot, text }) - sizeOf({ slot, text: this.#facts.get(slot) });
    if (text === undefined) this.#facts.delete(slot);
    else this.#facts.set(slot, text);
  }

  async #write(change?: FactChange): Promise<void> {
    if (!this.isServedHere) throw this.#owner.markLost(this);
    const at = { id: this.id, fence: this.fence, revision: this.#revision };
    const written = await this.#owner.stores.directory.write(at, change);
    if (written === 'fenced') throw this.#owner.markLost(this);
    if (written === 'behind') await this.restore();
  }
}

/** Size of a fact, bytes; 0 if it is empty. */
const sizeOf = ({ slot, text }: FactChange): number =>
  text === undefined ? 0 : utf8Length(slot) + utf8Length(text);

/** Fence of a session that was never claimed. */
export const firstFence = 1;
