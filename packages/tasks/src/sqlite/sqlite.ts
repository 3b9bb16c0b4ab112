/**
 * SQLite, as Node has it since 22.13, or as a package brings it that has the same interface. Neither
 * is loaded before somebody asks for a database.
 */

import { missingPackage } from '../../../processes/src/missing-package.ts';

/** A value of a column. */
export type Column = string | number | null;

/** A statement that is compiled once. */
export interface Statement {
  run(...values: readonly Column[]): { readonly changes: number | bigint };
  get(...values: readonly Column[]): unknown;
  all(...values: readonly Column[]): readonly unknown[];
}

/** An open database. Every call blocks until it is done. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Opens the database at a path. Its calls wait this long for those of other processes, milliseconds. */
export type OpenDatabase = (path: string, timeoutMs: number) => Database;

interface SqliteModule {
  readonly DatabaseSync: new (path: string, options: { readonly timeout: number }) => Database;
}

/** Node's own, which the types of Node 20 do not know. */
const ownName: string = 'node:sqlite';

/** Brings SQLite to a Node that has none. By name: no bundle takes it in. */
const packageName: string = '@photostructure/sqlite';

/** @throws {Error} there is no SQLite; it says what to install */
export async function loadSqlite(): Promise<OpenDatabase> {
  const { DatabaseSync } = await sqliteModule();
  return (path, timeoutMs) => new DatabaseSync(path, { timeout: timeoutMs });
}

async function sqliteModule(): Promise<SqliteModule> {
  try {
    return (await import(ownName)) as SqliteModule;
  } catch {
    // An older Node.
  }
  try {
    return (await import(packageName)) as SqliteModule;
  } catch (cause) {
    const purpose = `Tasks in a directory need SQLite, which Node has since 22.13. This Node (${process.version}) needs`;
    throw missingPackage(purpose, packageName, cause);
  }
}
