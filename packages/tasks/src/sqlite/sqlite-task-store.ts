/**
 * Task store in a directory: SQLite in WAL mode. Each write is synced to disk before it settles. Any number of processes
 * on one machine may share the directory. Reads wait for the sync too, so they return nothing that a power cut could
 * undo.
 */
import { join } from 'node:path';
import type {
  UnfencedClaim,
  ClaimRequest,
  ClaimedTasks,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskListRequest,
  TaskProgress,
  TaskRecord,
  TaskQuota,
  TaskStep,
  TaskStore,
  WriteResult,
} from '../task-store.ts';
import { quotaExceeded } from '../task-store.ts';
import { OwnerLocks } from './owner-locks.ts';
import { databaseFile, locksFolder, openDirectory } from './private-directory.ts';
import type { TaskDirectoryOptions } from './private-directory.ts';
import type { OpenDatabase } from './sqlite.ts';
import { SyncedDatabase } from './synced-database.ts';

/** Options of the SQLite store. */
export interface SqliteTaskStoreOptions extends TaskDirectoryOptions {
  /**
   * Duration of a lease without renewal, milliseconds. Default: 30 s. Matters only for stopped processes: a lock reveals
   * ended ones at once.
   */
  readonly leaseMs?: number;
  /** Current time, milliseconds since 1970. */
  readonly now?: () => number;
}

/** Format version of the tables. */
const format = 3;

const tables = `
  CREATE TABLE tasks (
    id TEXT PRIMARY KEY, server TEXT NOT NULL, owner TEXT NOT NULL, fence INTEGER NOT NULL,
    claims INTEGER NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL, expires_at INTEGER NOT NULL,
    changed INTEGER NOT NULL, due_at INTEGER, share TEXT NOT NULL, lets_go INTEGER NOT NULL
  );
  CREATE INDEX tasks_owned ON tasks (owner) WHERE state = 'open' AND owner <> '';
  CREATE INDEX tasks_due ON tasks (server, due_at) WHERE state = 'open' AND owner = '';
  CREATE INDEX tasks_changed ON tasks (changed);
  CREATE INDEX tasks_expiring ON tasks (expires_at);
  CREATE INDEX tasks_let_go ON tasks (share, expires_at) WHERE lets_go;
  CREATE TABLE shares (share TEXT PRIMARY KEY, kept INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TRIGGER tasks_come AFTER INSERT ON tasks WHEN new.share <> '' BEGIN
    INSERT INTO shares VALUES (new.share, 1) ON CONFLICT (share) DO UPDATE SET kept = kept + 1;
  END;
  CREATE TRIGGER tasks_go AFTER DELETE ON tasks WHEN old.share <> '' BEGIN
    UPDATE shares SET kept = kept - 1 WHERE share = old.share;
    DELETE FROM shares WHERE share = old.share AND kept = 0;
  END;
  CREATE TABLE steps (
    place INTEGER PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks ON DELETE CASCADE,
    key TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (task, key)
  );
  CREATE TABLE leases (owner TEXT PRIMARY KEY, ends_at INTEGER NOT NULL);
  CREATE TABLE changes (last INTEGER NOT NULL);
  INSERT INTO changes VALUES (0);
`;

const statements = {
  lease:
    'INSERT INTO leases VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET ends_at = excluded.ends_at',
  leave: 'DELETE FROM leases WHERE owner = ?',
  leases: 'SELECT owner FROM leases WHERE ends_at > ?',
  forgetLeases: 'DELETE FROM leases WHERE ends_at <= ?',
  forgetTasks: 'DELETE FROM tasks WHERE expires_at <= ?',
  create: `INSERT INTO tasks VALUES (?, ?, ?, 1, 0, 'open', ?, ?, 0, NULL, ?, 0)`,
  kept: 'SELECT kept FROM shares WHERE share = ?',
  makeRoom: `DELETE FROM tasks WHERE id =
    (SELECT id FROM tasks WHERE lets_go AND share = ? ORDER BY expires_at LIMIT 1)`,
  read: 'SELECT * FROM tasks WHERE id = ? AND expires_at > ?',
  steps: 'SELECT key, text FROM steps WHERE task = ? ORDER BY place',
  append: `INSERT INTO steps (task, key, text) VALUES (?, ?, ?)
    ON CONFLICT (task, key) DO UPDATE SET text = excluded.text`,
  appendNew:
    'INSERT INTO steps (task, key, text) VALUES (?, ?, ?) ON CONFLICT (task, key) DO NOTHING',
  tell: 'UPDATE tasks SET changed = ? WHERE id = ?',
  park: `UPDATE tasks SET owner = '', due_at = min(coalesce(due_at, ?1), ?1) WHERE id = ?2`,
  wake: 'UPDATE tasks SET due_at = ? WHERE id = ?',
  finish: `UPDATE tasks SET state = 'ended', text = ?, changed = ?, lets_go = ? WHERE id = ?`,
  forgetSteps: 'DELETE FROM steps WHERE task = ?',
  unowned: `SELECT id FROM tasks WHERE state = 'open' AND owner <> '' AND owner <> ? AND server = ?
    AND id = coalesce(?, id) AND id NOT IN (SELECT value FROM json_each(?)) AND +expires_at > ?
    AND owner NOT IN (SELECT owner FROM leases WHERE ends_at > ?) LIMIT ?`,
  unheard: `SELECT id FROM tasks WHERE state = 'open' AND owner <> '' AND owner = ? AND server = ?
    AND id = coalesce(?, id) AND id NOT IN (SELECT value FROM json_each(?)) AND expires_at > ? LIMIT ?`,
  due: `SELECT id FROM tasks WHERE state = 'open' AND owner = '' AND server = ?
    AND id = coalesce(?, id) AND id NOT IN (SELECT value FROM json_each(?)) AND expires_at > ? AND due_at <= ?
    ORDER BY due_at LIMIT ?`,
  next: `SELECT due_at FROM tasks WHERE state = 'open' AND owner = '' AND server = ? AND expires_at > ?
    AND due_at > ? ORDER BY due_at LIMIT 1`,
  claim: `UPDATE tasks SET claims = claims + (owner NOT IN ('', ?1)), owner = ?1, fence = fence + 1, due_at = NULL,
    changed = ?2 WHERE id = ?3`,
  list: 'SELECT * FROM tasks WHERE expires_at > ? AND id > ? ORDER BY id LIMIT ?',
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
  readonly due_at: number | null;
}

/**
 * Opens a task store in a directory. Creates it if needed.
 * @throws {Error} SQLite is missing, or the directory is unusable
 */
export async function sqliteTaskStore(
  directory: string,
  options: SqliteTaskStoreOptions = {},
): Promise<TaskStore> {
  const open = await openDirectory(directory, options);
  const store = new SqliteTaskStore(directory, open, options);
  await store.begin();
  return store;
}

class SqliteTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #database: SyncedDatabase<keyof typeof statements>;
  readonly #locks: OwnerLocks;
  readonly #now: () => number;

  constructor(
    directory: string,
    open: OpenDatabase,
    { leaseMs = 30_000, now = Date.now }: SqliteTaskStoreOptions,
  ) {
    this.leaseMs = leaseMs;
    this.#now = now;
    this.#locks = new OwnerLocks(join(directory, locksFolder), open);
    const known = { sql: tables, format, what: `The tasks in ${directory}` };
    this.#database = new SyncedDatabase(join(directory, databaseFile), open, known, statements);
  }

  /** Starts the store; call it first. @throws {Error} the log cannot be opened */
  begin(): Promise<void> {
    return this.#database.begin();
  }

  async lease(owner: string): Promise<void> {
    this.#locks.hold(owner);
    this.#database.transaction(() => {
      const now = this.#now();
      this.#database.run('forgetTasks', now);
      this.#database.run('forgetLeases', now);
      this.#database.run('lease', owner, now + this.leaseMs);
    });
    await this.#database.refuseRemoved();
  }

  async leave(owner: string): Promise<void> {
    this.#database.run('leave', owner);
    await this.#locks.release(owner);
  }

  async create({
    taskId,
    server,
    owner,
    text,
    ttlMs,
    steps = [],
    quota,
  }: NewTaskRecord): Promise<TaskClaim> {
    this.#database.transaction(() => {
      if (quota) this.#makeRoom(quota);
      this.#database.run(
        'create',
        taskId,
        server,
        owner,
        text,
        this.#now() + ttlMs,
        quota?.key ?? '',
      );
      this.#append(taskId, steps);
    });
    await this.#database.onDisk();
    return { taskId, fence: 1 };
  }

  #makeRoom(quota: TaskQuota): void {
    const { key: of, max } = quota;
    const isFull = () =>
      ((this.#database.get('kept', of) as { kept: number } | undefined)?.kept ?? 0) >= max;
    // What has expired is removed when a lease is prolonged, and now.
    if (isFull()) this.#database.run('forgetTasks', this.#now());
    if (isFull()) this.#database.run('makeRoom', of);
    if (isFull()) throw quotaExceeded(quota);
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    const row = this.#row(taskId);
    const found = row && this.#foundOf(row, this.#living());
    await this.#database.onDisk();
    return found;
  }

  async append(
    claim: UnfencedClaim | TaskClaim,
    { steps, parkForMs, isAnnounced }: TaskProgress,
  ): Promise<WriteResult> {
    const { taskId } = claim;
    return this.#written(claim, () => {
      const isAnybodys = !('fence' in claim);
      this.#append(taskId, steps, isAnybodys ? 'appendNew' : 'append');
      if (isAnybodys) this.#database.run('wake', this.#now(), taskId);
      else if (parkForMs !== undefined) this.#database.run('park', this.#now() + parkForMs, taskId);
      if (isAnybodys || isAnnounced) this.#database.run('tell', this.#nextChange(), taskId);
    });
  }

  #append(
    taskId: string,
    steps: readonly TaskStep[],
    statement: 'append' | 'appendNew' = 'append',
  ): void {
    for (const { key, text } of steps) this.#database.run(statement, taskId, key, text);
  }

  async finish(
    claim: UnfencedClaim | TaskClaim,
    text: string,
    letsGo = false,
  ): Promise<WriteResult> {
    return this.#written(claim, () => {
      this.#database.run('finish', text, this.#nextChange(), Number(letsGo), claim.taskId);
      this.#database.run('forgetSteps', claim.taskId);
    });
  }

  async claim(request: ClaimRequest): Promise<ClaimedTasks> {
    const { owner, server, taskId, max, except = [], held } = request;
    const ended: string[] = [];
    const claimed = this.#database.transaction(() => {
      const now = this.#now();
      for (const { owner: other } of this.#database.all('leases', now) as readonly TaskRow[]) {
        if (this.#locks.isHeld(other)) continue;
        this.#database.run('leave', other);
        ended.push(other);
      }
      const named = taskId ?? null;
      const not = JSON.stringify(except);
      const own = JSON.stringify([...(held ?? []), ...except]);
      const unheard = held
        ? this.#database.all('unheard', owner, server, named, own, now, max)
        : [];
      const left = max - unheard.length;
      const unowned = this.#database.all('unowned', owner, server, named, not, now, now, left);
      const due = this.#database.all('due', server, named, not, now, now, left - unowned.length);
      const rows = [...unheard, ...unowned, ...due] as readonly TaskRow[];
      const tasks = rows.map(({ id }) => {
        this.#database.run('claim', owner, this.#nextChange(), id);
        return this.#recordOf(this.#row(id) as TaskRow);
      });
      const next = this.#database.get('next', server, now, now) as
        | { readonly due_at: number }
        | undefined;
      return { tasks, nextInMs: next && Math.max(0, next.due_at - now) };
    });
    await this.#database.onDisk();
    for (const other of ended) await this.#locks.remove(other);
    return claimed;
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    const { last: upTo } = this.#database.get('last') as { readonly last: number };
    const now = this.#now();
    if (since === undefined || since === upTo) return { upTo, taskIds: [], now };
    const rows = this.#database.all('changes', since) as readonly TaskRow[];
    return { upTo, taskIds: rows.map(({ id }) => id), now };
  }

  async list({ after = '', max }: TaskListRequest): Promise<readonly FoundTask[]> {
    const living = this.#living();
    const rows = this.#database.all('list', this.#now(), after, max) as readonly TaskRow[];
    const found = rows.map((row) => this.#foundOf(row, living));
    await this.#database.onDisk();
    return found;
  }

  async close(): Promise<void> {
    try {
      for (const owner of this.#locks.held) await this.leave(owner);
    } catch {
      // The lease will expire.
    }
    await this.#database.close();
  }

  /** Writes to an open task if the fence matches. */
  async #written(claim: UnfencedClaim | TaskClaim, write: () => void): Promise<WriteResult> {
    const became = this.#database.transaction(() => {
      const row = this.#row(claim.taskId);
      if (row?.state !== 'open') return 'ended';
      if ('fence' in claim && claim.fence !== row.fence) return 'fenced';
      write();
      return 'written';
    });
    await this.#database.onDisk();
    return became;
  }

  #row(taskId: string): TaskRow | undefined {
    return this.#database.get('read', taskId, this.#now()) as TaskRow | undefined;
  }

  #foundOf(row: TaskRow, living: readonly string[]): FoundTask {
    return { record: this.#recordOf(row), isOwned: living.includes(row.owner) };
  }

  #recordOf({ id, expires_at: expiresAt, due_at: dueAt, ...row }: TaskRow): TaskRecord {
    const { server, owner, fence, claims, state, text } = row;
    const until = (at: number) => Math.max(0, at - this.#now());
    const steps = (this.#database.all('steps', id) as readonly TaskStep[]).map((step) => ({
      ...step,
    }));
    const record = { taskId: id, server, owner, fence, claims, state, text, steps };
    const isParked = owner === '' && dueAt !== null;
    return { ...record, ttlMs: until(expiresAt), ...(isParked ? { dueInMs: until(dueAt) } : {}) };
  }

  #nextChange(): number {
    return (this.#database.get('count') as { readonly last: number }).last;
  }

  /** Owners with valid leases. */
  #living(): readonly string[] {
    const leases = this.#database.all('leases', this.#now()) as readonly {
      readonly owner: string;
    }[];
    return leases.map(({ owner }) => owner).filter((owner) => this.#locks.isHeld(owner));
  }
}
