/**
 * Tasks in a directory: SQLite, with its log ahead of its data, and each write on the disk before it
 * settles. Any number of processes of one machine may share the directory.
 *
 * As long as it lives, a process holds a lock that the kernel lets go of. So the lease of a process that
 * was killed is over at once.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  ClaimRequest,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskRecord,
  TaskStep,
  TaskStore,
  TaskWritten,
} from '../tasks/task-store.ts';
import { loadSqlite } from './sqlite.ts';
import type { Column, Database, OpenDatabase, Statement } from './sqlite.ts';

/** How a directory of tasks is opened. */
export interface SqliteTaskStoreOptions {
  /**
   * How long a lease lasts without a sign of life, milliseconds; 30 s by default. Only a process that
   * is stopped is waited for: one that has ended is known by its lock.
   */
  readonly leaseMs?: number;
  /** The time of day, milliseconds since 1970. */
  readonly now?: () => number;
}

/** How long a write waits for those of other processes, milliseconds: meanwhile nothing else is done. */
const busyTimeoutMs = 2000;

/** The tables as this code knows them. */
const format = 1;

const tables = `
  CREATE TABLE tasks (
    id TEXT PRIMARY KEY, server TEXT NOT NULL, owner TEXT NOT NULL, fence INTEGER NOT NULL,
    claims INTEGER NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL, expires_at INTEGER NOT NULL,
    changed INTEGER NOT NULL
  );
  CREATE INDEX tasks_open ON tasks (server) WHERE state = 'open';
  CREATE INDEX tasks_changed ON tasks (changed);
  CREATE INDEX tasks_expiring ON tasks (expires_at);
  CREATE TABLE steps (
    place INTEGER PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
    key TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (task, key)
  );
  CREATE TABLE leases (owner TEXT PRIMARY KEY, ends_at INTEGER NOT NULL);
  CREATE TABLE changes (last INTEGER NOT NULL);
  INSERT INTO changes VALUES (0);
  PRAGMA user_version = ${format};
`;

const statements = {
  lease:
    'INSERT INTO leases VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET ends_at = excluded.ends_at',
  leave: 'DELETE FROM leases WHERE owner = ?',
  leases: 'SELECT owner FROM leases WHERE ends_at > ?',
  forgetLeases: 'DELETE FROM leases WHERE ends_at <= ?',
  forgetTasks: 'DELETE FROM tasks WHERE expires_at <= ?',
  create: `INSERT INTO tasks VALUES (?, ?, ?, 1, 0, 'open', ?, ?, 0)`,
  read: 'SELECT * FROM tasks WHERE id = ? AND expires_at > ?',
  steps: 'SELECT key, text FROM steps WHERE task = ? ORDER BY place',
  append: `INSERT INTO steps (task, key, text) VALUES (?, ?, ?)
    ON CONFLICT (task, key) DO UPDATE SET text = excluded.text`,
  finish: `UPDATE tasks SET state = 'ended', text = ?, changed = ? WHERE id = ?`,
  forgetSteps: 'DELETE FROM steps WHERE task = ?',
  unowned: `SELECT id FROM tasks WHERE state = 'open' AND server = ? AND id = coalesce(?, id)
    AND expires_at > ? AND owner NOT IN (SELECT owner FROM leases WHERE ends_at > ?) LIMIT ?`,
  claim:
    'UPDATE tasks SET owner = ?, fence = fence + 1, claims = claims + 1, changed = ? WHERE id = ?',
  count: 'UPDATE changes SET last = last + 1 RETURNING last',
  last: 'SELECT last FROM changes',
  changes: 'SELECT id FROM tasks WHERE changed > ?',
} as const;

interface TaskRow {
  readonly id: string;
  readonly server: string;
  readonly owner: string;
  readonly fence: number;
  readonly claims: number;
  readonly state: TaskRecord['state'];
  readonly text: string;
  readonly expires_at: number;
}

/**
 * Opens the tasks in a directory, which is made if it is not there.
 * @throws {Error} there is no SQLite, or the directory cannot be used
 */
export async function sqliteTaskStore(
  directory: string,
  options: SqliteTaskStoreOptions = {},
): Promise<TaskStore> {
  await mkdir(ownersIn(directory), { recursive: true });
  return new SqliteTaskStore(directory, await loadSqlite(), options);
}

/** Where the locks are. */
const ownersIn = (directory: string) => join(directory, 'owners');

class SqliteTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #owners: string;
  readonly #open: OpenDatabase;
  readonly #database: Database;
  readonly #now: () => number;
  readonly #compiled = new Map<string, Statement>();
  /** The locks that say that our owners live. */
  readonly #locks = new Map<string, Database>();

  constructor(
    directory: string,
    open: OpenDatabase,
    { leaseMs = 30_000, now = Date.now }: SqliteTaskStoreOptions,
  ) {
    this.leaseMs = leaseMs;
    this.#now = now;
    this.#open = open;
    this.#owners = ownersIn(directory);
    const database = open(join(directory, 'tasks.db'), busyTimeoutMs);
    this.#database = database;
    try {
      database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON',
      );
      this.#transaction(() => this.#prepareTables(directory));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #prepareTables(directory: string): void {
    const { user_version: found } = this.#database.prepare('PRAGMA user_version').get() as {
      readonly user_version: number;
    };
    if (found === 0) return this.#database.exec(tables);
    if (found === format) return;
    throw new Error(
      `The tasks in ${directory} are in format ${found}, which this version does not know: it knows ${format}`,
    );
  }

  async lease(owner: string): Promise<void> {
    this.#holdLock(owner);
    this.#transaction(() => {
      const now = this.#now();
      this.#run('forgetTasks', now);
      this.#run('forgetLeases', now);
      this.#run('lease', owner, now + this.leaseMs);
    });
  }

  async leave(owner: string): Promise<void> {
    this.#run('leave', owner);
    this.#locks.get(owner)?.close();
    this.#locks.delete(owner);
    await this.#removeLock(owner);
  }

  async create({ taskId, server, owner, text, ttlMs }: NewTaskRecord): Promise<TaskClaim> {
    this.#run('create', taskId, server, owner, text, this.#now() + ttlMs);
    return { taskId, fence: 1 };
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    const row = this.#row(taskId);
    if (!row) return undefined;
    return { record: this.#recordOf(row), isOwned: this.#living().includes(row.owner) };
  }

  async append(claim: TaskClaim, { key, text }: TaskStep): Promise<TaskWritten> {
    return this.#written(claim, () => this.#run('append', claim.taskId, key, text));
  }

  async finish(claim: Omit<TaskClaim, 'fence'> | TaskClaim, text: string): Promise<TaskWritten> {
    return this.#written(claim, () => {
      this.#run('finish', text, this.#nextChange(), claim.taskId);
      this.#run('forgetSteps', claim.taskId);
    });
  }

  async claim({ owner, server, taskId, max }: ClaimRequest): Promise<readonly TaskRecord[]> {
    const ended: string[] = [];
    const records = this.#transaction(() => {
      const now = this.#now();
      for (const { owner: other } of this.#all('leases', now) as readonly TaskRow[]) {
        if (this.#lives(other)) continue;
        this.#run('leave', other);
        ended.push(other);
      }
      const named = taskId ?? null;
      const rows = this.#all('unowned', server, named, now, now, max) as readonly TaskRow[];
      return rows.map(({ id }) => {
        this.#run('claim', owner, this.#nextChange(), id);
        return this.#recordOf(this.#row(id) as TaskRow);
      });
    });
    for (const other of ended) await this.#removeLock(other);
    return records;
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    const { last: upTo } = this.#get('last') as { readonly last: number };
    if (since === undefined || since === upTo) return { upTo, taskIds: [] };
    const rows = this.#all('changes', since) as readonly TaskRow[];
    return { upTo, taskIds: rows.map(({ id }) => id) };
  }

  async close(): Promise<void> {
    try {
      for (const owner of this.#locks.keys()) await this.leave(owner);
    } catch {
      // Its lease ends by itself.
    }
    this.#database.close();
  }

  /** Writes to a task that has not ended, if nobody else has claimed it. */
  #written(claim: Omit<TaskClaim, 'fence'> | TaskClaim, write: () => void): TaskWritten {
    return this.#transaction(() => {
      const row = this.#row(claim.taskId);
      if (row?.state !== 'open') return 'ended';
      if ('fence' in claim && claim.fence !== row.fence) return 'fenced';
      write();
      return 'written';
    });
  }

  #row(taskId: string): TaskRow | undefined {
    return this.#get('read', taskId, this.#now()) as TaskRow | undefined;
  }

  #recordOf({ id, expires_at: expiresAt, ...row }: TaskRow): TaskRecord {
    const { server, owner, fence, claims, state, text } = row;
    const ttlMs = Math.max(0, expiresAt - this.#now());
    const steps = (this.#all('steps', id) as readonly TaskStep[]).map((step) => ({ ...step }));
    return { taskId: id, server, owner, fence, claims, state, text, ttlMs, steps };
  }

  #nextChange(): number {
    return (this.#get('count') as { readonly last: number }).last;
  }

  /** The owners whose leases last. */
  #living(): readonly string[] {
    const leases = this.#all('leases', this.#now()) as readonly { readonly owner: string }[];
    return leases.map(({ owner }) => owner).filter((owner) => this.#lives(owner));
  }

  // The locks.

  #lockOf(owner: string): string {
    return join(this.#owners, `${owner}.db`);
  }

  #holdLock(owner: string): void {
    if (this.#locks.has(owner)) return;
    const lock = this.#open(this.#lockOf(owner), busyTimeoutMs);
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    this.#locks.set(owner, lock);
  }

  /** Whether the process of an owner holds its lock. */
  #lives(owner: string): boolean {
    if (this.#locks.has(owner)) return true;
    const lock = this.#open(this.#lockOf(owner), 0);
    try {
      lock.exec('BEGIN EXCLUSIVE; ROLLBACK');
    } catch {
      return true;
    } finally {
      lock.close();
    }
    return false;
  }

  #removeLock(owner: string): Promise<void> {
    return rm(this.#lockOf(owner), { force: true });
  }

  // The statements.

  #transaction<T>(act: () => T): T {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = act();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #statement(name: keyof typeof statements): Statement {
    const known = this.#compiled.get(name) ?? this.#database.prepare(statements[name]);
    this.#compiled.set(name, known);
    return known;
  }

  #run(name: keyof typeof statements, ...values: readonly Column[]): void {
    this.#statement(name).run(...values);
  }

  #get(name: keyof typeof statements, ...values: readonly Column[]): unknown {
    return this.#statement(name).get(...values);
  }

  #all(name: keyof typeof statements, ...values: readonly Column[]): readonly unknown[] {
    return this.#statement(name).all(...values);
  }
}
