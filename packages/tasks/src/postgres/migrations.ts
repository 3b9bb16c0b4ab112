/**
 * The tables of tasks in Postgres, as the changes that lead to them. A change that was released is never
 * edited: another one is added.
 */
import type { SqlConnection } from '../../../../src/actors/request-context.ts';

/** Before a table's name: the schema, quoted. */
type Place = (table: string) => string;

/** The first leads from nothing to version 1, and so on. */
const migrations: readonly ((at: Place) => string)[] = [
  (at) => `
CREATE TABLE ${at('tasks')} (
  id text PRIMARY KEY,
  server text NOT NULL,
  owner text NOT NULL,
  fence bigint NOT NULL,
  claims integer NOT NULL,
  state text NOT NULL,
  body text NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The transaction that has ended it, claimed it, or told of it.
  changed xid8,
  due_at timestamptz
);
CREATE INDEX tasks_owned ON ${at('tasks')} (owner, server) WHERE state = 'open' AND owner <> '';
CREATE INDEX tasks_due ON ${at('tasks')} (server, due_at) WHERE state = 'open' AND owner = '';
CREATE INDEX tasks_changed ON ${at('tasks')} (changed) WHERE changed IS NOT NULL;
CREATE INDEX tasks_expiring ON ${at('tasks')} (expires_at);
CREATE TABLE ${at('steps')} (
  place bigint GENERATED ALWAYS AS IDENTITY,
  task text NOT NULL REFERENCES ${at('tasks')} ON DELETE CASCADE,
  key text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (task, key)
);
CREATE TABLE ${at('leases')} (
  owner text PRIMARY KEY,
  ends_at timestamptz NOT NULL
);
-- It is prolonged all the time, and has few rows.
ALTER TABLE ${at('leases')} SET (fillfactor = 50);`,
  (at) => `
ALTER TABLE ${at('tasks')} ADD share text NOT NULL DEFAULT '', ADD lets_go boolean NOT NULL DEFAULT false;
CREATE INDEX tasks_let_go ON ${at('tasks')} (share, expires_at) WHERE lets_go;
CREATE TABLE ${at('shares')} (
  share text PRIMARY KEY,
  kept integer NOT NULL
) WITH (fillfactor = 50);`,
  (at) => `
-- Sessions over HTTP. One row: which data these are, and since which timeline of the server.
CREATE TABLE ${at('store')} (
  id text NOT NULL DEFAULT gen_random_uuid(),
  timeline text NOT NULL DEFAULT '',
  since timestamptz NOT NULL DEFAULT 'epoch',
  secret text
);
INSERT INTO ${at('store')} DEFAULT VALUES;
CREATE TABLE ${at('nodes')} (
  name text PRIMARY KEY,
  ends_at timestamptz NOT NULL,
  url text NOT NULL,
  protocol integer NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE ${at('sessions')} (
  id text PRIMARY KEY,
  principal text,
  owner text NOT NULL,
  fence bigint NOT NULL,
  revision bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  log_events bigint NOT NULL DEFAULT 0,
  log_bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX sessions_expiring ON ${at('sessions')} (expires_at);
CREATE TABLE ${at('facts')} (
  session text NOT NULL REFERENCES ${at('sessions')} ON DELETE CASCADE,
  slot text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session, slot)
);
CREATE TABLE ${at('events')} (
  session text NOT NULL REFERENCES ${at('sessions')} ON DELETE CASCADE,
  place bigint GENERATED ALWAYS AS IDENTITY,
  said_at timestamptz NOT NULL,
  bytes integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session, place)
);
CREATE INDEX events_old ON ${at('events')} (said_at);
CREATE TABLE ${at('removed')} (
  id text PRIMARY KEY,
  removed_at timestamptz NOT NULL
);
CREATE INDEX removed_since ON ${at('removed')} (removed_at);`,
];

/** What this code works with. */
const version = migrations.length;

/** The version that a schema has. */
const tableOfVersions = (at: Place) => `CREATE TABLE IF NOT EXISTS ${at('migrations')} (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);`;

/** A name as SQL has it. */
export const sqlName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** @throws {TypeError} the name is empty, longer than Postgres takes, or has a NUL */
export function placeIn(schema: string): Place {
  const bytes = new TextEncoder().encode(schema).length;
  if (bytes === 0 || bytes > 63 || schema.includes('\0')) {
    const message = `The name of a schema has 1 to 63 bytes; ${JSON.stringify(schema)} has ${bytes}`;
    throw new TypeError(message);
  }
  return (table) => `${sqlName(schema)}.${table}`;
}

/**
 * The SQL that makes the tables, for somebody who may do that: print it, let it be read, and run it. A store
 * whose tables are there needs no right but to use them.
 *
 * @param from the version that is there already; 0 if nothing is
 */
export function postgresTaskMigrations({ schema = 'mcp_actors', from = 0 } = {}): string {
  return `BEGIN;\n${migrationsFrom(schema, from)}\nCOMMIT;\n`;
}

function migrationsFrom(schema: string, from: number): string {
  const at = placeIn(schema);
  const steps = migrations
    .slice(from)
    .map(
      (step, n) => `${step(at).trim()}\nINSERT INTO ${at('migrations')} VALUES (${from + n + 1});`,
    );
  const first = `CREATE SCHEMA IF NOT EXISTS ${sqlName(schema)};`;
  return [first, tableOfVersions(at), ...steps].join('\n');
}

/** How one process keeps others from changing tables at once: the letters of "mcp_" as a number. */
const lockOfMigrations = 0x6d63705f;

/**
 * Brings a schema up to what this code knows, unless it is there already, in the transaction that is open.
 * @param may whether tables may be made
 * @throws {Error} the schema is newer, or has to be changed and must not be
 */
export async function migrate(sql: SqlConnection, schema: string, may: boolean): Promise<void> {
  const before = await versionOf(sql, schema);
  if (before === version) return;
  refuse(before, schema);
  if (!may) {
    const message = `The tables of tasks in the schema ${schema} are in version ${before}, and ${version} is needed; run what postgresTaskMigrations prints, or leave migrate on`;
    throw new Error(message);
  }
  await sql.query(`SELECT pg_advisory_xact_lock(${lockOfMigrations})`);
  // Another process may have been first.
  const from = await versionOf(sql, schema);
  refuse(from, schema);
  if (from < version) await sql.query(migrationsFrom(schema, from));
}

async function versionOf(sql: SqlConnection, schema: string): Promise<number> {
  const at = placeIn(schema);
  // Asked of the catalogue as it is: to_regclass may remember what was not there before the lock.
  const tables = `SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'`;
  if ((await sql.query(tables, [schema])).rows.length === 0) return 0;
  const { rows } = await sql.query(
    `SELECT coalesce(max(version), 0) AS found FROM ${at('migrations')}`,
  );
  return (rows[0] as { readonly found: number }).found;
}

function refuse(found: number, schema: string): void {
  if (found <= version) return;
  const message = `The tables of tasks in the schema ${schema} are in version ${found}, which this version does not know: it knows ${version}`;
  throw new Error(message);
}
