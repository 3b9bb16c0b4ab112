/**
 * Schema migrations of the task tables in Postgres. Never edit a released migration: add another one.
 */
import type { SqlConnection } from '../../../../src/actors/request-context.ts';

/** The quoted schema, as a prefix of table names. */
type Place = (table: string) => string;

/** The first migration creates version 1. */
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

/** The schema version that this code needs. */
const version = migrations.length;

/** Reads the version of a schema. */
const tableOfVersions = (at: Place) => `CREATE TABLE IF NOT EXISTS ${at('migrations')} (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);`;

/** Quotes an SQL identifier. */
export const sqlName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** @throws {TypeError} the name is empty, longer than Postgres allows, or contains a NUL */
export function placeIn(schema: string): Place {
  const bytes = new TextEncoder().encode(schema).length;
  if (bytes === 0 || bytes > 63 || schema.includes('\0')) {
    const message = `schema must be a name of 1 to 63 bytes, got ${bytes} bytes: ${JSON.stringify(schema)}`;
    throw new TypeError(message);
  }
  return (table) => `${sqlName(schema)}.${table}`;
}

/**
 * The SQL that creates the tables, for an administrator to review and run. A store whose tables exist needs no DDL rights.
 *
 * @param from existing version. Default: 0, no tables
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

/** Advisory lock that serializes migrations: the letters of "mcp_" as a number. */
const lockOfMigrations = 0x6d63705f;

/**
 * Migrates a schema to the current version, in the open transaction.
 * @param may true if tables may be created and changed
 * @throws {Error} the schema is newer, or needs a migration that is not allowed
 */
export async function migrate(sql: SqlConnection, schema: string, may: boolean): Promise<void> {
  const before = await versionOf(sql, schema);
  if (before === version) return;
  refuse(before, schema);
  if (!may) {
    const message = `Task tables in the schema ${schema} must be in version ${version}, got ${before}: run the SQL of postgresTaskMigrations, or set migrate`;
    throw new Error(message);
  }
  await sql.query(`SELECT pg_advisory_xact_lock(${lockOfMigrations})`);
  // Another process may have migrated meanwhile.
  const from = await versionOf(sql, schema);
  refuse(from, schema);
  if (from < version) await sql.query(migrationsFrom(schema, from));
}

async function versionOf(sql: SqlConnection, schema: string): Promise<number> {
  const at = placeIn(schema);
  // Read the catalog: to_regclass may have cached the absence from before the lock.
  const tables = `SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'`;
  if ((await sql.query(tables, [schema])).rows.length === 0) return 0;
  const { rows } = await sql.query(
    `SELECT coalesce(max(version), 0) AS found FROM ${at('migrations')}`,
  );
  return (rows[0] as { readonly found: number }).found;
}

function refuse(found: number, schema: string): void {
  if (found <= version) return;
  const message = `Task tables in the schema ${schema} must be at most in version ${version}, got ${found}: upgrade mcp-actors`;
  throw new Error(message);
}
