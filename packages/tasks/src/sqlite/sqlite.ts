/**
 * SQLite, built into Node since 22.13, or from a package with the same interface. Loaded on first use.
 */

import { missingPackage } from '../../../processes/src/missing-package.ts';

/** A column value. */
export type Column = string | number | null;

/** A prepared statement. */
export interface Statement {
  run(...values: readonly Column[]): { readonly changes: number | bigint };
  get(...values: readonly Column[]): unknown;
  all(...values: readonly Column[]): readonly unknown[];
}

/** An open database with synchronous calls. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Opens the database at a path, with a busy timeout in milliseconds. */
export type OpenDatabase = (path: string, timeoutMs: number) => Database;

interface SqliteModule {
  readonly DatabaseSync: new (path: string, options: { readonly timeout: number }) => Database;
}

/** Node's own module, missing from the types of Node 20. */
const ownName: string = 'node:sqlite';

/** Package with SQLite for older Node. Imported by a computed name, so that bundlers do not include it. */
const packageName: string = '@photostructure/sqlite';

/** @throws {Error} SQLite is missing; names the package to install */
export async function loadSqlite(): Promise<OpenDatabase> {
  const { DatabaseSync } = await sqliteModule();
  return (path, timeoutMs) => new DatabaseSync(path, { timeout: timeoutMs });
}

async function sqliteModule(): Promise<SqliteModule> {
  try {
    return (await import(ownName)) as SqliteModule;
  } catch {
    // Older Node lacks the module.
  }
  try {
    return (await import(packageName)) as SqliteModule;
  } catch (cause) {
    const purpose = `Tasks in a directory need SQLite, which Node has since 22.13. This Node (${process.version}) needs`;
    throw missingPackage(purpose, packageName, cause);
  }
}
