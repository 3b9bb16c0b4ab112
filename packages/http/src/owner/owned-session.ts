/**
 * What is written down of one session, so that another node can go on with it: what its client has said, before
 * that is acknowledged, and what its streams have said.
 */
import { turnEnd } from '../../../../src/actors/clock.ts';
import type { HttpReport } from '../facts.ts';
import { StoreUnavailable, lengthOf } from '../nodes/stores.ts';
import type {
  FactChange,
  StreamEvent,
  SessionRecord,
  Stores,
  StreamLog,
  Written,
} from '../nodes/stores.ts';
import { reportUnavailable } from './store-errors.ts';

/** A session that this node serves. */
export interface OwnedCopy {
  /** What another node needs to go on with its streams. */
  readonly said: readonly StreamEvent[];
  /** Another node may serve it from now on: it ends here, and its client is told to come back. */
  abandon(): void;
}

/** Who owns sessions, as each of them sees it. */
export interface SessionOwner {
  readonly stores: Stores;
  readonly report: HttpReport;
  /** The name of its lease. */
  readonly node: string;
  has(session: OwnedSession): boolean;
  begin(session: OwnedSession): Promise<void>;
  put(session: OwnedSession): Promise<boolean>;
  remove(session: OwnedSession): Promise<void>;
  give(session: OwnedSession, owner: string): Promise<void>;
  forget(session: OwnedSession): void;
  lost(session: OwnedSession): StoreUnavailable;
  lacksLog(session: OwnedSession): void;
  touch(session: OwnedSession): void;
  track(done: Promise<unknown>): void;
}

/** What is written down of one session, bytes. */
const maxRecordBytes = 256 * 1024;

/** A session that this node owns. */
export class OwnedSession {
  readonly id: string;
  readonly principal: string | undefined;
  readonly fence: number;
  readonly copy: OwnedCopy;
  readonly #owner: SessionOwner;
  readonly #facts = new Map<string, string>();
  /** What the facts come to, bytes. */
  #bytes = 0;
  #revision: number;
  /** What was said in this turn. */
  #log: StreamEvent[] = [];
  /** Settles when what was appended in this turn is kept, or cannot be. */
  #keeping: Promise<void> | undefined = undefined;
  /** When it was written last, the clock's milliseconds. */
  touchedAt: number;

  /** @param from what was known of it, if it is brought back */
  constructor(
    who: Pick<SessionRecord, 'id' | 'principal'>,
    copy: OwnedCopy,
    owner: SessionOwner,
    now: number,
    from?: SessionRecord,
  ) {
    this.id = who.id;
    this.principal = who.principal;
    this.copy = copy;
    this.#owner = owner;
    this.touchedAt = now;
    this.fence = from?.fence ?? firstFence;
    this.#revision = from?.revision ?? 0;
    for (const [slot, text] of Object.entries(from?.facts ?? {})) this.#set({ slot, text });
  }

  get view(): unknown {
    return [this.record, this.#log];
  }

  /** Whether this node may serve it. If not, it has ended here. */
  get isHere(): boolean {
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
   * Writes it down for the first time.
   * @throws {StoreUnavailable}
   */
  begin(facts: readonly FactChange[]): Promise<void> {
    for (const { slot, text = '' } of facts) this.#set({ slot, text });
    this.#revision = 1;
    return this.#owner.begin(this);
  }

  /**
   * Writes down what its client has changed: once it resolves, that may be acknowledged.
   * @throws {StoreUnavailable}
   */
  async note(changes: readonly FactChange[]): Promise<void> {
    for (const change of changes) await this.#note(change);
  }

  /** Has its time in the store prolonged: it is in use. */
  touch(now: number): void {
    this.touchedAt = now;
    this.#owner.touch(this);
  }

  /** Prolongs its time in the store. @throws {StoreUnavailable} */
  prolong(): Promise<void> {
    return this.#write();
  }

  /** Ends it for all nodes. @throws {StoreUnavailable} */
  remove(): Promise<void> {
    return this.#owner.remove(this);
  }

  /** Another node has it from now on. @throws {StoreUnavailable} */
  give(owner: string): Promise<void> {
    return this.#owner.give(this, owner);
  }

  /** It has ended here alone. */
  leave(): void {
    this.#owner.forget(this);
  }

  /**
   * Keeps what is said on a stream, so that another node can repeat it.
   * @returns settles when it is kept, or cannot be; only the beginning of a stream waits for that
   */
  append(entry: StreamEvent): Promise<void> {
    this.#log.push(entry);
    return (this.#keeping ??= turnEnd.then(this.#flush));
  }

  /** Gives a store that has lost data what is known of it. */
  async putBack(): Promise<void> {
    if (this.isHere && (await this.#owner.put(this))) await this.putLogBack();
  }

  /** Gives it all that is kept of its streams, what was said in this turn too. */
  putLogBack(): Promise<void> {
    this.#log = [];
    return this.#keep((log) => log.put(this, this.copy.said));
  }

  readonly #flush = async (): Promise<void> => {
    const entries = this.#log;
    this.#log = [];
    this.#keeping = undefined;
    if (!this.isHere || entries.length === 0) return;
    const keeping = this.#keep((log) => log.append(this, entries));
    this.#owner.track(keeping);
    const what = `What session ${this.id} says is not kept for other nodes`;
    await keeping.catch(reportUnavailable(this.#owner.report, what));
  };

  async #keep(write: (log: StreamLog) => Promise<Written>): Promise<void> {
    try {
      const written = await write(this.#owner.stores.log);
      if (written === 'fenced') this.#owner.lost(this);
      if (written === 'behind') await this.putBack();
    } catch (error) {
      this.#owner.lacksLog(this);
      throw error;
    }
  }

  async #note(change: FactChange): Promise<void> {
    const { slot, text } = change;
    const before = this.#facts.get(slot);
    if (before === text) return;
    const bytes = this.#bytes + sizeOf(change) - sizeOf({ slot, text: before });
    if (text !== undefined && bytes > maxRecordBytes) {
      const message = `what is kept of a session may have ${maxRecordBytes} bytes`;
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
    if (!this.isHere) throw this.#owner.lost(this);
    const at = { id: this.id, fence: this.fence, revision: this.#revision };
    const written = await this.#owner.stores.directory.write(at, change);
    if (written === 'fenced') throw this.#owner.lost(this);
    if (written === 'behind') await this.putBack();
  }
}

/** What a fact takes, bytes; nothing if there is none. */
const sizeOf = ({ slot, text }: FactChange): number =>
  text === undefined ? 0 : lengthOf(slot) + lengthOf(text);

/** Of a session that is still unclaimed. */
export const firstFence = 1;
