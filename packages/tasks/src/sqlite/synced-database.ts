/**
 * A database in SQLite whose writes are synced beside the event loop. SQLite itself does not wait for the disk: it would
 * block the loop. Its log is synced once for all that was written meanwhile.
 */
import { open as openFile, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { unlessMissing } from './private-directory.ts';
import type { Column, Database, OpenDatabase, Statement } from './sqlite.ts';

/** How long a write waits for those of other processes, milliseconds: meanwhile nothing else is done. */
export const busyTimeoutMs = 2000;

/** The tables of a database, as this code knows them. */
export interface Tables {
  /** Tables and indexes of an empty database. */
  readonly sql: string;
  readonly format: number;
  /** The subject of an error, such as `The tasks in /var/state`. */
  readonly what: string;
}

export class SyncedDatabase<TName extends string> {
  readonly #path: string;
  readonly #database: Database;
  readonly #statements: { readonly [name in TName]: string };
  readonly #compiled = new Map<string, Statement>();
  #log: FileHandle | undefined = undefined;
  /** Settles once the sync that runs is over, and the one after it. */
  #syncs: { readonly running: Promise<void>; next?: Promise<void> | undefined } = {
    running: Promise.resolve(),
  };

  /** @throws {Error} the database cannot be opened, or has tables of another format */
  constructor(
    path: string,
    open: OpenDatabase,
    tables: Tables,
    statements: { readonly [name in TName]: string },
  ) {
    this.#path = path;
    this.#statements = statements;
    const database = open(path, busyTimeoutMs);
    this.#database = database;
    try {
      database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON',
      );
      this.transaction(() => this.#prepareTables(tables));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Call it before any other method. @throws {Error} the log cannot be opened */
  async begin(): Promise<void> {
    try {
      // As long as the database is open here, it keeps its log.
      this.#log = await openFile(`${this.#path}-wal`, 'r+');
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #prepareTables({ sql, format, what }: Tables): void {
    const { user_version: found } = this.#database.prepare('PRAGMA user_version').get() as {
      readonly user_version: number;
    };
    if (found === 0) return this.#database.exec(`${sql} PRAGMA user_version = ${format};`);
    if (found === format) return;
    throw new Error(
      `${what} are in format ${found}, which this version does not know: it knows ${format}`,
    );
  }

  /** Settles once all that was written so far is on the disk. */
  onDisk(): Promise<void> {
    const syncs = this.#syncs;
    // The one that runs may have begun too early.
    syncs.next ??= syncs.running
      // Its own callers hear of it.
      .catch(() => {})
      .then(() => {
        const syncing = this.#log?.datasync() ?? Promise.resolve();
        const running = syncing.then(() => this.refuseRemoved());
        this.#syncs = { running };
        return running;
      });
    return syncs.next;
  }

  /** Files that were removed are written on, and lost with the process. @throws {Error} they were removed */
  async refuseRemoved(): Promise<void> {
    const found = stat(this.#path).catch(unlessMissing);
    const [log, database] = await Promise.all([this.#log?.stat(), found]);
    if (log?.nlink !== 0 && database) return;
    throw new Error(
      `The database ${this.#path} was removed or replaced while in use: restart the process`,
    );
  }

  /** Closes it once all that was written is on the disk. @throws {Error} it cannot be synced */
  async close(): Promise<void> {
    try {
      // What was written settles before.
      await this.onDisk();
    } finally {
      await this.#log?.close();
      this.#database.close();
    }
  }

  transaction<T>(act: () => T): T {
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

  run(name: TName, ...values: readonly Column[]): number {
    return Number(this.#statement(name).run(...values).changes);
  }

  get(name: TName, ...values: readonly Column[]): unknown {
    return this.#statement(name).get(...values);
  }

  all(name: TName, ...values: readonly Column[]): readonly unknown[] {
    return this.#statement(name).all(...values);
  }

  #statement(name: TName): Statement {
    const known = this.#compiled.get(name) ?? this.#database.prepare(this.#statements[name]);
    this.#compiled.set(name, known);
    return known;
  }
}
