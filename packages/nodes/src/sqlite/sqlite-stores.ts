/**
 * The session directory and the event logs of HTTP sessions in a directory, beside its tasks. Any number of processes of
 * one machine may share it. A lease is over as soon as its process has ended: see {@link OwnerLocks}.
 */
import { join } from 'node:path';
import { textOfError } from '../../../../src/protocol/errors.ts';
import {
  StoreUnavailable,
  isNodeName,
  utf8Length,
  storeLimits,
} from '../../../http/src/nodes/stores.ts';
import type {
  BroadcastListener,
  Broadcasts,
  Directory,
  FactChange,
  SessionLookup,
  LeaseReply,
  LeaseRequest,
  NodeAddress,
  SessionRecord,
  StoreEpoch,
  StoreLimits,
  StoredEvent,
  Stores,
  StreamEvent,
  StreamLog,
  WriteResult,
} from '../../../http/src/nodes/stores.ts';
import { OwnerLocks } from '../../../tasks/src/sqlite/owner-locks.ts';
import {
  locksFolder,
  openDirectory,
  sessionsFile,
} from '../../../tasks/src/sqlite/private-directory.ts';
import type { TaskDirectoryOptions } from '../../../tasks/src/sqlite/private-directory.ts';
import { SyncedDatabase } from '../../../tasks/src/sqlite/synced-database.ts';
import {
  maxStoredLogBytes,
  maxStoredSessions,
  rememberedMs,
  removedMs,
  sessionTtlMs,
} from '../stored-bounds.ts';

export interface SqliteStoresOptions extends TaskDirectoryOptions {
  /** Time without a sign of life after which a stopped process is taken to be dead, milliseconds; 10 s by default. */
  readonly leaseMs?: number;
  /** Bounds and times; what is left out has its default. */
  readonly limits?: Partial<StoreLimits>;
}

/** How often the broadcasts of other processes are read, milliseconds. */
const listenMs = 250;

const format = 1;

const tables = `
  CREATE TABLE store (name TEXT NOT NULL, secret TEXT);
  INSERT INTO store (name) VALUES (hex(randomblob(16)));
  CREATE TABLE leases (
    node TEXT PRIMARY KEY, ends_at INTEGER NOT NULL, url TEXT NOT NULL, protocol INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY, principal TEXT, owner TEXT NOT NULL, fence INTEGER NOT NULL, revision INTEGER NOT NULL,
    facts TEXT NOT NULL, expires_at INTEGER NOT NULL, log_events INTEGER NOT NULL, log_bytes INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX sessions_expiring ON sessions (expires_at);
  CREATE TABLE events (
    place INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
    said_at INTEGER NOT NULL, bytes INTEGER NOT NULL, text TEXT NOT NULL
  );
  CREATE INDEX events_of ON events (session, place);
  CREATE INDEX events_old ON events (said_at);
  CREATE TABLE removed (id TEXT PRIMARY KEY, removed_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX removed_since ON removed (removed_at);
  CREATE TABLE broadcasts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, said_at INTEGER NOT NULL, text TEXT NOT NULL
  );
`;

const statements = {
  store: 'SELECT name, secret FROM store',
  makeSecret: 'UPDATE store SET secret = ? WHERE secret IS NULL',
  lease: 'SELECT * FROM leases WHERE node = ? AND ends_at > ?',
  setLease: 'INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)',
  leave: 'DELETE FROM leases WHERE node = ?',
  endedLeases: 'SELECT node FROM leases WHERE ends_at <= ?',
  session: 'SELECT * FROM sessions WHERE id = ? AND expires_at > ?',
  setSession: `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT (id) DO UPDATE SET
    principal = excluded.principal, owner = excluded.owner, fence = excluded.fence, revision = excluded.revision,
    facts = excluded.facts, expires_at = excluded.expires_at`,
  setLogged: 'UPDATE sessions SET log_events = ?, log_bytes = ? WHERE id = ?',
  touch: 'UPDATE sessions SET expires_at = ? WHERE id = ?',
  remove: 'DELETE FROM sessions WHERE id = ?',
  expire: 'DELETE FROM sessions WHERE expires_at <= ?',
  total: 'SELECT count(*) AS sessions, coalesce(sum(log_bytes), 0) AS bytes FROM sessions',
  forgetUnused:
    'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions ORDER BY expires_at LIMIT ?)',
  longestLog: 'SELECT id, log_events, log_bytes FROM sessions ORDER BY log_bytes DESC LIMIT 1',
  append: 'INSERT INTO events (session, said_at, bytes, text) VALUES (?, ?, ?, ?)',
  clearLog: 'DELETE FROM events WHERE session = ?',
  oldest: 'SELECT place, said_at, bytes FROM events WHERE session = ? ORDER BY place LIMIT 1',
  drop: 'DELETE FROM events WHERE place = ?',
  oldLogs: `SELECT id, log_events, log_bytes FROM sessions
    WHERE id IN (SELECT session FROM events WHERE said_at <= ?)`,
  events: 'SELECT said_at, text FROM events WHERE session = ? AND said_at > ? ORDER BY place',
  isRemoved: 'SELECT 1 FROM removed WHERE id = ?',
  setRemoved: 'INSERT OR REPLACE INTO removed VALUES (?, ?)',
  removedSince: 'SELECT id FROM removed WHERE removed_at >= ?',
  forgetRemoved: 'DELETE FROM removed WHERE removed_at <= ?',
  publish: 'INSERT INTO broadcasts (said_at, text) VALUES (?, ?)',
  lastBroadcast: 'SELECT coalesce(max(number), 0) AS number FROM broadcasts',
  broadcasts: 'SELECT number, text FROM broadcasts WHERE number > ? ORDER BY number',
  forgetBroadcasts: 'DELETE FROM broadcasts WHERE said_at <= ?',
} as const;

interface SessionRow {
  readonly id: string;
  readonly principal: string | null;
  readonly owner: string;
  readonly fence: number;
  readonly revision: number;
  readonly facts: string;
  readonly log_events: number;
  readonly log_bytes: number;
}

interface EventRow {
  readonly place: number;
  readonly said_at: number;
  readonly bytes: number;
  readonly text: string;
}

type At = Pick<SessionRecord, 'id' | 'fence'>;

type SessionsDatabase = SyncedDatabase<keyof typeof statements>;

/**
 * Opens the sessions in a directory, which is made if it is not there.
 * @throws {Error} there is no SQLite, or the directory cannot be used
 */
export async function sqliteStores(
  directory: string,
  options: SqliteStoresOptions = {},
): Promise<Stores> {
  const open = await openDirectory(directory, options);
  const known = { sql: tables, format, what: `The sessions in ${directory}` };
  const database = new SyncedDatabase(join(directory, sessionsFile), open, known, statements);
  await database.begin();
  const { leaseMs = 10_000 } = options;
  const common = { database, leaseMs, limits: storeLimits(options.limits) };
  const locks = new OwnerLocks(join(directory, locksFolder), open);
  const broadcasts = new SqliteBroadcasts(common);
  return {
    leaseMs,
    isOneMachine: true,
    directory: new SqliteDirectory(common, locks),
    log: new SqliteLog(common),
    broadcasts,
    close: async () => {
      broadcasts.close();
      await Promise.all([...locks.held].map((node) => locks.release(node)));
      // What could not be synced was reported to those who wrote it.
      await database.close().catch(() => {});
    },
  };
}

interface Common {
  readonly database: SessionsDatabase;
  readonly leaseMs: number;
  readonly limits: StoreLimits;
}

/** What the directory, the logs and the broadcasts have in common. */
abstract class SqlitePart {
  protected readonly database: SessionsDatabase;
  protected readonly leaseMs: number;
  protected readonly limits: StoreLimits;

  constructor({ database, leaseMs, limits }: Common) {
    this.database = database;
    this.leaseMs = leaseMs;
    this.limits = limits;
  }

  /** Acts in one transaction. @throws {StoreUnavailable} */
  protected async asked<T>(act: (now: number) => T): Promise<T> {
    try {
      return this.database.transaction(() => act(Date.now()));
    } catch (error) {
      throw unavailableFor(error);
    }
  }

  /** The same, once it is on the disk. */
  protected async saved<T>(act: (now: number) => T): Promise<T> {
    const result = await this.asked(act);
    await this.database.onDisk().catch((error: unknown) => {
      throw unavailableFor(error);
    });
    return result;
  }

  protected session(id: string, now: number): SessionRow | undefined {
    return this.database.get('session', id, now) as SessionRow | undefined;
  }

  protected epoch(now: number): StoreEpoch {
    const { name } = this.database.get('store') as { readonly name: string };
    // Nothing was in it before it was made.
    return { name, sinceMs: 0, ageMs: now };
  }
}

class SqliteDirectory extends SqlitePart implements Directory {
  readonly #locks: OwnerLocks;

  constructor(common: Common, locks: OwnerLocks) {
    super(common);
    this.#locks = locks;
  }

  lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    { address, removedSinceMs }: LeaseRequest,
  ): Promise<LeaseReply> {
    return this.asked((now) => {
      const isRevived = typeof how === 'object' && now < how.reviveUntilMs;
      const isHeld = how === 'new' || isRevived || this.#addressOf(node, now) !== undefined;
      const untilMs = now + this.leaseMs;
      if (isHeld) {
        this.#locks.hold(node);
        this.database.run('setLease', node, untilMs, address.url, address.protocol);
      }
      this.#forget(now);
      const rows = this.database.all('removedSince', removedSinceMs) as readonly SessionRow[];
      return { isHeld, untilMs, store: this.epoch(now), removed: rows.map(({ id }) => id) };
    });
  }

  async leave(node: string): Promise<void> {
    await this.asked(() => this.database.run('leave', node));
    await this.#locks.release(node);
  }

  find(id: string): Promise<SessionLookup> {
    return this.asked((now) => {
      const store = this.epoch(now);
      const isRemoved = this.database.get('isRemoved', id) !== undefined;
      const row = isRemoved ? undefined : this.session(id, now);
      if (!row) return { record: undefined, isRemoved, address: undefined, store };
      const { principal, owner, fence } = recordOf(row);
      const address = this.#addressOf(owner, now);
      return { record: { principal, owner, fence }, isRemoved, address, store };
    });
  }

  node(name: string): Promise<Pick<SessionLookup, 'address' | 'store'>> {
    return this.asked((now) => ({ address: this.#addressOf(name, now), store: this.epoch(now) }));
  }

  claim(
    id: string,
    node: string,
    read: { readonly fence: number; readonly store: string },
  ): Promise<SessionRecord | undefined> {
    return this.saved((now) => {
      const row = this.session(id, now);
      if (row?.fence !== read.fence || read.store !== this.epoch(now).name) return undefined;
      const fence = Math.max(row.fence + 1, now);
      return this.#store({ ...recordOf(row), owner: node, fence }, now);
    });
  }

  put(record: SessionRecord, untilMs: number): Promise<boolean> {
    return this.saved((now) => {
      if (now >= untilMs) return false;
      const there = this.session(record.id, now);
      if (there && there.fence > record.fence) return false;
      const isOlder = there?.fence === record.fence && there.revision > record.revision;
      if (!isOlder) this.#store(record, now);
      return true;
    });
  }

  write(
    { id, fence, revision }: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: FactChange,
  ): Promise<WriteResult> {
    const write = (now: number): WriteResult => {
      const there = this.session(id, now);
      if (there?.fence !== fence) return there && there.fence > fence ? 'fenced' : 'behind';
      if (there.revision < (change ? revision - 1 : revision)) return 'behind';
      if (!change || there.revision >= revision) {
        this.database.run('touch', now + sessionTtlMs(this.limits), id);
        return 'written';
      }
      const { facts: before, ...record } = recordOf(there);
      const facts = Object.entries(before).filter(([slot]) => slot !== change.slot);
      if (change.text !== undefined) facts.push([change.slot, change.text]);
      this.#store({ ...record, facts: Object.fromEntries(facts), revision }, now);
      return 'written';
    };
    return change ? this.saved(write) : this.asked(write);
  }

  remove(id: string, fence: number): Promise<boolean> {
    return this.saved((now) => {
      const there = this.session(id, now);
      if (there && there.fence > fence) return false;
      this.database.run('remove', id);
      this.database.run('setRemoved', id, now);
      return true;
    });
  }

  rememberRemoved(ids: readonly string[]): Promise<void> {
    return this.saved((now) => {
      for (const id of ids) this.database.run('setRemoved', id, now);
    });
  }

  secret(candidate: string): Promise<string> {
    return this.saved(() => {
      this.database.run('makeSecret', candidate);
      return (this.database.get('store') as { readonly secret: string }).secret;
    });
  }

  /** Where a node is whose lease lasts, and whose process lives. */
  #addressOf(node: string, now: number): NodeAddress | undefined {
    if (!isNodeName(node)) return undefined;
    const row = this.database.get('lease', node, now) as NodeAddress | undefined;
    if (!row || !this.#locks.isHeld(node)) return undefined;
    return { url: row.url, protocol: row.protocol };
  }

  #store(record: SessionRecord, now: number): SessionRecord {
    const { id, principal = null, owner, fence, revision, facts } = record;
    const expiry = now + sessionTtlMs(this.limits);
    const text = JSON.stringify(facts);
    this.database.run('setSession', id, principal, owner, fence, revision, text, expiry);
    return record;
  }

  /** Removes what is over, and what exceeds the bounds. */
  #forget(now: number): void {
    const { database } = this;
    database.run('expire', now);
    database.run('forgetRemoved', now - removedMs(this.limits));
    database.run('forgetBroadcasts', now - rememberedMs);
    const ended = database.all('endedLeases', now - rememberedMs) as readonly { node: string }[];
    for (const { node } of ended) {
      database.run('leave', node);
      void this.#locks.remove(node);
    }
    const since = now - this.limits.maxAgeMs;
    for (const row of database.all('oldLogs', since) as readonly SessionRow[]) {
      trim(database, row, { ...this.limits, since });
    }
    const { sessions, bytes } = database.get('total') as { sessions: number; bytes: number };
    if (sessions > maxStoredSessions) database.run('forgetUnused', sessions - maxStoredSessions);
    let excess = bytes - maxStoredLogBytes;
    for (; excess > 0;) {
      const longest = database.get('longestLog') as SessionRow;
      const maxBytes = Math.floor(longest.log_bytes / 2);
      excess -= trim(database, longest, { ...this.limits, since, maxBytes });
    }
  }
}

/** The event logs. Their events outlive the process, not a power cut: calls are found without them. */
class SqliteLog extends SqlitePart implements StreamLog {
  append(at: At, entries: readonly StreamEvent[]): Promise<WriteResult> {
    return this.#write(at, entries, 'append');
  }

  put(at: At, entries: readonly StreamEvent[]): Promise<WriteResult> {
    return this.#write(at, entries, 'put');
  }

  read(id: string): Promise<readonly StoredEvent[]> {
    return this.asked((now) => {
      const since = now - this.limits.maxAgeMs;
      const rows = this.database.all('events', id, since) as readonly EventRow[];
      return rows.map((row) => ({
        ...(JSON.parse(row.text) as StreamEvent),
        ageMs: now - row.said_at,
      }));
    });
  }

  #write(
    { id, fence }: At,
    entries: readonly StreamEvent[],
    how: 'append' | 'put',
  ): Promise<WriteResult> {
    return this.asked((now) => {
      const there = this.session(id, now);
      if (there?.fence !== fence) return there && there.fence > fence ? 'fenced' : 'behind';
      let [events, bytes] = [there.log_events, there.log_bytes];
      if (how === 'put') {
        this.database.run('clearLog', id);
        [events, bytes] = [0, 0];
      }
      for (const entry of entries) {
        const text = JSON.stringify(entry);
        const length = utf8Length(text);
        this.database.run('append', id, now, length, text);
        events++;
        bytes += length;
      }
      const since = now - this.limits.maxAgeMs;
      const row = { ...there, log_events: events, log_bytes: bytes };
      trim(this.database, row, { ...this.limits, since });
      return 'written';
    });
  }
}

/** Drops the oldest events of a log until it is within its bounds. @returns how many bytes were dropped */
function trim(
  database: SessionsDatabase,
  { id, log_events, log_bytes }: Pick<SessionRow, 'id' | 'log_events' | 'log_bytes'>,
  { maxEvents, maxBytes, since }: StoreLimits & { readonly since: number },
): number {
  let [events, bytes] = [log_events, log_bytes];
  while (events > 0) {
    const oldest = database.get('oldest', id) as EventRow | undefined;
    if (!oldest) break;
    if (events <= maxEvents && bytes <= maxBytes && oldest.said_at > since) break;
    database.run('drop', oldest.place);
    events--;
    bytes -= oldest.bytes;
  }
  database.run('setLogged', events, bytes, id);
  return log_bytes - bytes;
}

/** Texts for the processes that share the directory, which look for them at intervals. */
class SqliteBroadcasts extends SqlitePart implements Broadcasts {
  #listening: NodeJS.Timeout | undefined = undefined;
  /** The number of the last broadcast that was read. */
  #heard = 0;

  async publish(text: string): Promise<void> {
    await this.asked((now) => this.database.run('publish', now, text));
  }

  async subscribe(listener: BroadcastListener): Promise<void> {
    this.#heard = await this.asked(() => this.#last());
    this.#listening = setInterval(() => this.#read(listener), listenMs).unref();
  }

  close(): void {
    clearInterval(this.#listening);
  }

  #last(): number {
    return (this.database.get('lastBroadcast') as { readonly number: number }).number;
  }

  #read(listener: BroadcastListener): void {
    let rows: readonly { readonly number: number; readonly text: string }[];
    try {
      rows = this.database.all('broadcasts', this.#heard) as typeof rows;
    } catch {
      // They are read at the next interval.
      return;
    }
    for (const { number, text } of rows) {
      this.#heard = number;
      listener.received(text);
    }
  }
}

function recordOf(row: SessionRow): SessionRecord {
  const { id, principal, owner, fence, revision } = row;
  const facts = JSON.parse(row.facts) as SessionRecord['facts'];
  return { id, principal: principal ?? undefined, owner, fence, revision, facts };
}

function unavailableFor(cause: unknown): StoreUnavailable {
  const text = textOfError(cause);
  const fault = /full/i.test(text) ? 'full' : /locked|busy/i.test(text) ? 'busy' : 'away';
  return new StoreUnavailable(fault, text, { retryAfterMs: 1000, cause });
}
