import type { Clock } from '../../actors/clock.ts';
import type {
  Creation,
  HeldSession,
  JournalEntry,
  NewSession,
  SessionStoreLimits,
  SessionRecord,
  SessionStore,
  TouchReport,
  Update,
} from './session-store.ts';

interface StoredSession {
  readonly id: string;
  readonly principal: string | undefined;
  readonly revision: string;
  version: number;
  /** By slot, in the order of the versions. */
  readonly journal: Map<string, JournalEntry>;
  journalBytes: number;
  touchedMs: number;
}

/** What an entry counts in the journal. */
const bytesOf = (slot: string, text: string): number => slot.length + text.length;

/** Sessions in this process's memory. They end with the process. A byte is a UTF-16 unit here. */
export class MemorySessions implements SessionStore {
  readonly #limits: SessionStoreLimits;
  readonly #clock: Clock;
  /** The one that has been quiet for longest comes first. */
  readonly #sessions = new Map<string, StoredSession>();

  constructor(limits: SessionStoreLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  async create({ id, principal, revision, initialize }: NewSession): Promise<Creation> {
    this.#expire();
    const evicted: string[] = [];
    for (const oldest of this.#sessions.values()) {
      if (this.#sessions.size < this.#limits.maxSessions) break;
      const quietMs = this.#clock.now() - oldest.touchedMs;
      const retryAfterMs = this.#limits.evictableMs - quietMs;
      if (retryAfterMs > 0) return { kind: 'full', retryAfterMs };
      this.#sessions.delete(oldest.id);
      evicted.push(oldest.id);
    }
    const entry: JournalEntry = { slot: 'initialize', version: 1, text: initialize };
    this.#put({ id, principal, revision, version: 1, journal: [entry] });
    return { kind: 'created', evicted };
  }

  async load(id: string): Promise<SessionRecord | undefined> {
    this.#expire();
    const session = this.#sessions.get(id);
    if (!session) return undefined;
    const { principal, revision, version, journal } = session;
    return { id, principal, revision, version, journal: [...journal.values()] };
  }

  async update(id: string, slot: string, text: string | undefined): Promise<Update> {
    this.#expire();
    const session = this.#sessions.get(id);
    if (!session) return { kind: 'gone' };
    const { journal } = session;
    const earlier = journal.get(slot);
    const bytes =
      session.journalBytes -
      (earlier === undefined ? 0 : bytesOf(slot, earlier.text)) +
      (text === undefined ? 0 : bytesOf(slot, text));
    const { maxJournalBytes } = this.#limits;
    if (text !== undefined && bytes > maxJournalBytes) {
      return { kind: 'full', maxBytes: maxJournalBytes };
    }
    this.#use(session);
    if (earlier?.text === text) return { kind: 'updated', version: session.version };
    session.version++;
    session.journalBytes = bytes;
    journal.delete(slot);
    if (text !== undefined) journal.set(slot, { slot, version: session.version, text });
    return { kind: 'updated', version: session.version };
  }

  async touch(sessions: readonly HeldSession[]): Promise<TouchReport> {
    this.#expire();
    const gone: string[] = [];
    const changed: string[] = [];
    for (const { id, version } of sessions) {
      const session = this.#sessions.get(id);
      if (session) this.#use(session);
      if (!session) gone.push(id);
      else if (session.version !== version) changed.push(id);
    }
    return { gone, changed, lost: [] };
  }

  async restore(record: SessionRecord): Promise<void> {
    this.#expire();
    const there = this.#sessions.get(record.id);
    if (!there || there.version < record.version) this.#put(record);
  }

  async remove(id: string): Promise<boolean> {
    this.#expire();
    return this.#sessions.delete(id);
  }

  #put({ id, principal, revision, version, journal }: SessionRecord): void {
    this.#sessions.delete(id);
    this.#sessions.set(id, {
      id,
      principal,
      revision,
      version,
      journal: new Map(journal.map((entry) => [entry.slot, entry])),
      journalBytes: journal.reduce((sum, { slot, text }) => sum + bytesOf(slot, text), 0),
      touchedMs: this.#clock.now(),
    });
  }

  #use(session: StoredSession): void {
    session.touchedMs = this.#clock.now();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
  }

  #expire(): void {
    const oldestMs = this.#clock.now() - this.#limits.idleMs;
    for (const { id, touchedMs } of this.#sessions.values()) {
      if (touchedMs > oldestMs) return;
      this.#sessions.delete(id);
    }
  }
}
