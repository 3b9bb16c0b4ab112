/**
 * The session directory, the event logs and the broadcasts of HTTP sessions in Postgres, 13 or newer, beside its tasks.
 * Each write is one statement. The time is the server's.
 */
import { assertDuration } from '../../../../src/actors/clock.ts';
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
  StoreFault,
  StoreLimits,
  StoredEvent,
  Stores,
  StreamEvent,
  StreamLog,
  WriteResult,
} from '../../../http/src/nodes/stores.ts';
import { migrate, placeIn } from '../../../tasks/src/postgres/migrations.ts';
import { Postgres } from '../../../tasks/src/postgres/postgres.ts';
import type { PostgresOptions } from '../../../tasks/src/postgres/postgres.ts';
import { maxStoredLogBytes, maxStoredSessions, removedMs, sessionTtlMs } from '../stored-bounds.ts';

/** Which Postgres, where in it, and how it is reached: by a `url`, or by a pool of your own. */
export interface PostgresStoresOptions extends Partial<PostgresOptions> {
  /** The schema that the tables are in; nodes with the same one share their sessions. Default `mcp_actors`. */
  readonly schema?: string;
  /** Time without a sign of life after which a node is taken to be dead, milliseconds; 10 s by default. */
  readonly leaseMs?: number;
  /** Whether the tables are made and changed as needed; otherwise they have to be there. Default true. */
  readonly migrate?: boolean;
  /** Bounds and times; what is left out has its default. */
  readonly limits?: Partial<StoreLimits>;
}

const defaults = {
  schema: 'mcp_actors',
  leaseMs: 10_000,
  commandTimeoutMs: 5000,
  migrate: true,
} as const;

/** Connections of the pool that is made: one listens, one renews the lease. */
const poolSize = 5;

/** Guards the removal of what is over, which one node at a time does: the letters of "mcps" as a number. */
const lockOfRemoval = 0x6d637073;

/** The longest text of a notification, in characters of base64. */
const maxPartLength = 7000;

type Statements = ReturnType<typeof statementsIn>;

function statementsIn(schema: string) {
  const at = placeIn(schema);
  const [sessions, facts, events] = [at('sessions'), at('facts'), at('events')];
  const [nodes, removed, store] = [at('nodes'), at('removed'), at('store')];
  const now = '(SELECT clock_timestamp())';
  const ms = (value: string) => `${value}::float8 * interval '1 millisecond'`;
  const epochMs = (time: string) => `(extract(epoch FROM ${time}) * 1000)::float8`;
  /** The server's timeline: another one has begun with a failover, or with older data. */
  const timeline = `(SELECT substring(pg_walfile_name(pg_current_wal_lsn()) FOR 8))`;
  const epoch = `(SELECT id || '.' || ${timeline} FROM ${store}) AS store,
    (SELECT CASE WHEN timeline IN ('', ${timeline}) THEN ${epochMs('since')} ELSE ${epochMs(now)} END FROM ${store}) AS since,
    ${epochMs(now)} AS now`;
  const address = (name: string) =>
    `LEFT JOIN ${nodes} n ON n.name = ${name} AND n.ends_at > ${now}`;
  const factsOf = (session: string) =>
    `coalesce((SELECT json_agg(json_build_array(f.slot, f.body)) FROM ${facts} f WHERE f.session = ${session}), '[]')`;
  return {
    epoch: `UPDATE ${store} SET timeline = ${timeline},
      since = CASE WHEN timeline = '' THEN since ELSE ${now} END WHERE timeline <> ${timeline}`,
    // $5: until when it may be taken again; null for a new one.
    lease: `WITH held AS (INSERT INTO ${nodes} SELECT $1, ${now} + ${ms('$2')}, $3, $4
        WHERE $5::float8 IS NULL OR ${epochMs(now)} < $5
        ON CONFLICT (name) DO UPDATE SET ends_at = excluded.ends_at, url = excluded.url, protocol = excluded.protocol
        RETURNING name)
      SELECT EXISTS (SELECT FROM held) AS held, ${epoch}`,
    prolong: `WITH held AS (UPDATE ${nodes} SET ends_at = ${now} + ${ms('$2')}, url = $3, protocol = $4
        WHERE name = $1 AND ends_at > ${now} RETURNING name)
      SELECT EXISTS (SELECT FROM held) AS held, ${epoch}`,
    leave: `DELETE FROM ${nodes} WHERE name = $1`,
    removedSince: `SELECT id FROM ${removed} WHERE ${epochMs('removed_at')} >= $1`,
    find: `SELECT s.principal, s.owner, s.fence, r.id IS NOT NULL AS removed, n.url, n.protocol, ${epoch}
      FROM (SELECT $1::text AS id) asked
      LEFT JOIN ${removed} r ON r.id = asked.id
      LEFT JOIN ${sessions} s ON s.id = asked.id AND s.expires_at > ${now} AND r.id IS NULL
      ${address('s.owner')}`,
    node: `SELECT n.url, n.protocol, ${epoch} FROM (SELECT $1::text AS name) asked ${address('asked.name')}`,
    claim: `WITH claimed AS (UPDATE ${sessions} SET owner = $2,
        fence = greatest(fence + 1, ${epochMs(now)}::bigint), expires_at = ${now} + ${ms('$5')}
        WHERE id = $1 AND fence = $3 AND expires_at > ${now}
        AND (SELECT id || '.' || ${timeline} FROM ${store}) = $4
        RETURNING id, principal, owner, fence, revision)
      SELECT c.*, ${factsOf('c.id')} AS facts FROM claimed c`,
    // $6: until when its owner may write, $8 and $9: slots and texts.
    put: `WITH up AS (INSERT INTO ${sessions} AS s (id, principal, owner, fence, revision, expires_at)
        SELECT $1, $2, $3, $4::bigint, $5::bigint, ${now} + ${ms('$7')} WHERE ${epochMs(now)} < $6
        ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, owner = excluded.owner,
          fence = excluded.fence, revision = excluded.revision, expires_at = excluded.expires_at
          WHERE s.expires_at <= ${now} OR s.fence < excluded.fence
          OR (s.fence = excluded.fence AND s.revision <= excluded.revision) RETURNING id),
      gone AS (DELETE FROM ${facts} USING up WHERE session = up.id AND slot <> ALL($8::text[])),
      said AS (INSERT INTO ${facts} SELECT up.id, f.slot, f.body FROM up, unnest($8::text[], $9::text[]) f (slot, body)
        ON CONFLICT (session, slot) DO UPDATE SET body = excluded.body)
      SELECT id FROM up`,
    isYounger: `SELECT FROM ${sessions} WHERE id = $1 AND fence = $2 AND revision >= $3
      AND ${epochMs(now)} < $4 AND expires_at > ${now}`,
    // $4: the slot, null for a sign of use; $5: its text, null if it is emptied.
    write: `WITH there AS (SELECT id, fence, revision FROM ${sessions}
        WHERE id = $1 AND expires_at > ${now} FOR UPDATE),
      ok AS (UPDATE ${sessions} s SET expires_at = ${now} + ${ms('$6')},
        revision = CASE WHEN $4::text IS NULL THEN s.revision ELSE greatest(s.revision, $3::bigint) END
        FROM there t WHERE s.id = t.id AND t.fence = $2
        AND t.revision >= $3::bigint - ($4::text IS NOT NULL)::int
        RETURNING s.id, t.revision < $3::bigint AS changes),
      gone AS (DELETE FROM ${facts} USING ok WHERE session = ok.id AND ok.changes AND slot = $4 AND $5::text IS NULL),
      said AS (INSERT INTO ${facts} SELECT id, $4, $5 FROM ok WHERE changes AND $5::text IS NOT NULL
        ON CONFLICT (session, slot) DO UPDATE SET body = excluded.body)
      SELECT fence, EXISTS (SELECT FROM ok) AS written FROM there`,
    remove: `WITH fenced AS (SELECT FROM ${sessions} WHERE id = $1 AND expires_at > ${now} AND fence > $2),
      gone AS (DELETE FROM ${sessions} WHERE id = $1 AND NOT EXISTS (SELECT FROM fenced)),
      noted AS (INSERT INTO ${removed} SELECT $1, ${now} WHERE NOT EXISTS (SELECT FROM fenced)
        ON CONFLICT (id) DO UPDATE SET removed_at = excluded.removed_at)
      SELECT EXISTS (SELECT FROM fenced) AS fenced`,
    rememberRemoved: `INSERT INTO ${removed} SELECT DISTINCT id, ${now} FROM unnest($1::text[]) id
      ON CONFLICT (id) DO UPDATE SET removed_at = excluded.removed_at`,
    secret: `UPDATE ${store} SET secret = coalesce(secret, $1) RETURNING secret`,
    // $5: whether nothing else is to be there.
    append: `WITH there AS (SELECT id, fence FROM ${sessions} WHERE id = $1 AND expires_at > ${now} FOR UPDATE),
      ok AS (UPDATE ${sessions} s SET
        log_events = CASE WHEN $5::boolean THEN 0 ELSE log_events END + cardinality($3::int[]),
        log_bytes = CASE WHEN $5::boolean THEN 0 ELSE log_bytes END + coalesce((SELECT sum(b) FROM unnest($3::int[]) b), 0)
        FROM there t WHERE s.id = t.id AND t.fence = $2 RETURNING s.id, log_events, log_bytes),
      gone AS (DELETE FROM ${events} USING ok WHERE session = ok.id AND $5::boolean),
      said AS (INSERT INTO ${events} (session, said_at, bytes, body)
        SELECT ok.id, ${now}, e.bytes, e.body
        FROM ok, unnest($3::int[], $4::text[]) WITH ORDINALITY e (bytes, body, place) ORDER BY e.place)
      SELECT t.fence, ok.log_events::float8 AS events, ok.log_bytes::float8 AS bytes
        FROM there t LEFT JOIN ok ON ok.id = t.id`,
    trim: `WITH kept AS (SELECT place, row_number() OVER newest AS n, sum(bytes) OVER newest AS b
        FROM ${events} WHERE session = $1 WINDOW newest AS (ORDER BY place DESC)),
      gone AS (DELETE FROM ${events} e USING kept k
        WHERE e.session = $1 AND e.place = k.place AND (k.n > $2 OR k.b > $3) RETURNING e.bytes)
      UPDATE ${sessions} SET log_events = log_events - (SELECT count(*) FROM gone),
        log_bytes = log_bytes - coalesce((SELECT sum(bytes) FROM gone), 0) WHERE id = $1`,
    read: `SELECT body, ${epochMs(now)} - ${epochMs('said_at')} AS age FROM ${events}
      WHERE session = $1 AND said_at > ${now} - ${ms('$2')} ORDER BY place`,
    // What is over, and what exceeds the bounds.
    mayRemove: `SELECT pg_try_advisory_xact_lock(${lockOfRemoval}) AS may`,
    expire: `DELETE FROM ${sessions} WHERE expires_at <= ${now}`,
    forgetNodes: `DELETE FROM ${nodes} WHERE ends_at <= ${now} - interval '1 hour'`,
    forgetRemoved: `DELETE FROM ${removed} WHERE removed_at <= ${now} - ${ms('$1')}`,
    forgetEvents: `WITH gone AS (DELETE FROM ${events} WHERE said_at <= ${now} - ${ms('$1')} RETURNING session, bytes),
      less AS (SELECT session, count(*) AS n, sum(bytes) AS b FROM gone GROUP BY session)
      UPDATE ${sessions} s SET log_events = log_events - n, log_bytes = log_bytes - b FROM less WHERE s.id = less.session`,
    total: `SELECT count(*)::float8 AS sessions, coalesce(sum(log_bytes), 0)::float8 AS bytes FROM ${sessions}`,
    forgetUnused: `DELETE FROM ${sessions} WHERE id IN (SELECT id FROM ${sessions} ORDER BY expires_at LIMIT $1::bigint)`,
    longestLog: `SELECT id, log_bytes::float8 AS bytes FROM ${sessions} ORDER BY log_bytes DESC LIMIT 1`,
    publish: `SELECT pg_notify($1, part) FROM unnest($2::text[]) part`,
    localAddress: `SELECT host(inet_client_addr()) AS address`,
  };
}

/**
 * The stores of a node that shares its sessions with others by way of Postgres.
 *
 * @throws {Error} Postgres cannot be reached, or the tables are not there and must not be made
 * @throws {RangeError} an option that cannot be
 */
export async function postgresStores(given: PostgresStoresOptions): Promise<Stores> {
  const options = { ...defaults, ...given };
  const { schema, leaseMs, commandTimeoutMs } = options;
  assertDuration('leaseMs', leaseMs);
  assertDuration('commandTimeoutMs', commandTimeoutMs);
  const limits = storeLimits(given.limits);
  const statements = statementsIn(schema);
  const channel = `${schema}.nodes`;
  const settings = { max: poolSize, ...options.settings };
  const postgres = await Postgres.open(channel, { ...options, settings });
  const asking = new Asking(postgres, statements);
  try {
    await postgres.transaction((sql) => migrate(sql, schema, options.migrate));
    return {
      leaseMs,
      directory: new PostgresDirectory(asking, leaseMs, limits),
      log: new PostgresLog(asking, limits),
      broadcasts: new PostgresBroadcasts(asking, channel),
      localAddress: async () => {
        const [row] = await asking.rows<{ readonly address: string | null }>('localAddress');
        return row?.address ?? undefined;
      },
      close: () => postgres.close(),
    };
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

/** Asks Postgres by the names of statements. */
class Asking {
  readonly postgres: Postgres;
  readonly #statements: Statements;

  constructor(postgres: Postgres, statements: Statements) {
    this.postgres = postgres;
    this.#statements = statements;
  }

  /** @throws {StoreUnavailable} */
  rows<TRow extends object>(
    name: keyof Statements,
    ...values: unknown[]
  ): Promise<readonly TRow[]> {
    return this.#reported(this.postgres.rows<TRow>(this.#statements[name], values));
  }

  /** Not queued behind other commands. @throws {StoreUnavailable} */
  urgent<TRow extends object>(
    name: keyof Statements,
    ...values: unknown[]
  ): Promise<readonly TRow[]> {
    return this.#reported(this.postgres.urgentRows<TRow>(this.#statements[name], values));
  }

  /** Several in one transaction. @throws {StoreUnavailable} */
  together<T>(
    act: (
      ask: <TRow>(name: keyof Statements, ...values: unknown[]) => Promise<readonly TRow[]>,
    ) => Promise<T>,
  ): Promise<T> {
    const all = this.postgres.transaction((sql) =>
      act(async <TRow>(name: keyof Statements, ...values: unknown[]) => {
        const { rows } = await sql.query(this.#statements[name], values);
        return rows as readonly TRow[];
      }),
    );
    return this.#reported(all);
  }

  async #reported<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (cause) {
      throw new StoreUnavailable(faultOf(cause), textOfError(cause), { retryAfterMs: 1000, cause });
    }
  }
}

/** By the class of an SQLSTATE; without one, there was no answer. */
function faultOf(error: unknown): StoreFault {
  const { code = '' } = error as { readonly code?: string };
  if (code.startsWith('53')) return 'full';
  if (code.startsWith('42') || code.startsWith('28')) return 'refused';
  return /not answered in/.test(textOfError(error)) ? 'slow' : 'away';
}

interface EpochRow {
  readonly store: string;
  readonly since: number;
  readonly now: number;
}

interface AddressRow {
  readonly url: string | null;
  readonly protocol: number | null;
}

interface RecordRow {
  readonly id: string;
  readonly principal: string | null;
  readonly owner: string;
  readonly fence: string;
  readonly revision: string;
  readonly facts: readonly (readonly [slot: string, body: string])[];
}

/** Texts may hold what no text of Postgres does. */
const encoded = (text: string): string => JSON.stringify(text);
const decoded = (text: string): string => JSON.parse(text) as string;

class PostgresDirectory implements Directory {
  readonly #asking: Asking;
  readonly #leaseMs: number;
  readonly #limits: StoreLimits;
  readonly #ttlMs: number;

  constructor(asking: Asking, leaseMs: number, limits: StoreLimits) {
    this.#asking = asking;
    this.#leaseMs = leaseMs;
    this.#limits = limits;
    this.#ttlMs = sessionTtlMs(limits);
  }

  async lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    { address, removedSinceMs }: LeaseRequest,
  ): Promise<LeaseReply> {
    const common = [node, this.#leaseMs, address.url, address.protocol];
    await this.#asking.urgent('epoch');
    const [row] =
      how === 'prolong'
        ? await this.#asking.urgent<LeaseRow>('prolong', ...common)
        : await this.#asking.urgent<LeaseRow>(
            'lease',
            ...common,
            how === 'new' ? null : how.reviveUntilMs,
          );
    if (!row) throw nothingAnswered();
    const removed = await this.#asking.urgent<Pick<RecordRow, 'id'>>(
      'removedSince',
      removedSinceMs,
    );
    // Nobody waits for it.
    this.#forget().catch(() => {});
    return {
      ...{ isHeld: row.held, untilMs: row.now + this.#leaseMs, store: epochOf(row) },
      removed: removed.map(({ id }) => decoded(id)),
    };
  }

  async leave(node: string): Promise<void> {
    await this.#asking.rows('leave', node);
  }

  async find(id: string): Promise<SessionLookup> {
    const [row] = await this.#asking.rows<FoundRow>('find', encoded(id));
    if (!row) throw nothingAnswered();
    const { principal, owner, fence, removed: isRemoved } = row;
    const store = epochOf(row);
    if (isRemoved || owner === null) {
      return { record: undefined, isRemoved, address: undefined, store };
    }
    const record = {
      ...{ owner, fence: Number(fence) },
      principal: principal === null ? undefined : decoded(principal),
    };
    return { record, isRemoved, address: addressOf(row), store };
  }

  async node(name: string): Promise<Pick<SessionLookup, 'address' | 'store'>> {
    const known = isNodeName(name) ? name : '';
    const [row] = await this.#asking.rows<AddressRow & EpochRow>('node', known);
    if (!row) throw nothingAnswered();
    return { address: addressOf(row), store: epochOf(row) };
  }

  async claim(
    id: string,
    node: string,
    read: { readonly fence: number; readonly store: string },
  ): Promise<SessionRecord | undefined> {
    const values = [encoded(id), node, read.fence, read.store, this.#ttlMs];
    const [row] = await this.#asking.rows<RecordRow>('claim', ...values);
    if (!row) return undefined;
    const { principal, owner, fence, revision, facts } = row;
    return {
      ...{ id, owner, fence: Number(fence), revision: Number(revision) },
      principal: principal === null ? undefined : decoded(principal),
      facts: Object.fromEntries(facts.map(([slot, body]) => [decoded(slot), decoded(body)])),
    };
  }

  async put(record: SessionRecord, untilMs: number): Promise<boolean> {
    const { principal, owner, fence, revision, facts } = record;
    const id = encoded(record.id);
    const whose = principal === undefined ? null : encoded(principal);
    const slots = Object.keys(facts).map(encoded);
    const bodies = Object.values(facts).map(encoded);
    const values = [id, whose, owner, fence, revision, untilMs, this.#ttlMs, slots, bodies];
    if ((await this.#asking.rows('put', ...values)).length > 0) return true;
    return (await this.#asking.rows('isYounger', id, fence, revision, untilMs)).length > 0;
  }

  async write(
    { id, fence, revision }: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: FactChange,
  ): Promise<WriteResult> {
    const slot = change ? encoded(change.slot) : null;
    const body = change?.text === undefined ? null : encoded(change.text);
    const values = [encoded(id), fence, revision, slot, body, this.#ttlMs];
    const [row] = await this.#asking.rows<{ fence: string; written: boolean }>('write', ...values);
    if (row?.written) return 'written';
    return row && Number(row.fence) > fence ? 'fenced' : 'behind';
  }

  async remove(id: string, fence: number): Promise<boolean> {
    const [row] = await this.#asking.rows<{ fenced: boolean }>('remove', encoded(id), fence);
    return row?.fenced === false;
  }

  async rememberRemoved(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += 1000) {
      await this.#asking.rows('rememberRemoved', ids.slice(at, at + 1000).map(encoded));
    }
  }

  async secret(candidate: string): Promise<string> {
    const [row] = await this.#asking.rows<{ secret: string }>('secret', candidate);
    return row?.secret ?? candidate;
  }

  async #forget(): Promise<void> {
    const { maxAgeMs } = this.#limits;
    await this.#asking.together(async (ask) => {
      const [lock] = await ask<{ may: boolean }>('mayRemove');
      if (!lock?.may) return;
      await ask('expire');
      await ask('forgetNodes');
      await ask('forgetRemoved', removedMs(this.#limits));
      await ask('forgetEvents', maxAgeMs);
      const [total] = await ask<{ sessions: number; bytes: number }>('total');
      const { sessions = 0, bytes = 0 } = total ?? {};
      if (sessions > maxStoredSessions) await ask('forgetUnused', sessions - maxStoredSessions);
      if (bytes <= maxStoredLogBytes) return;
      const [longest] = await ask<{ id: string; bytes: number }>('longestLog');
      if (longest) await ask('trim', longest.id, maxStoredSessions, longest.bytes / 2);
    });
  }
}

interface LeaseRow extends EpochRow {
  readonly held: boolean;
}

interface FoundRow extends AddressRow, EpochRow {
  readonly principal: string | null;
  readonly owner: string | null;
  readonly fence: string | null;
  readonly removed: boolean;
}

function epochOf({ store: name, since, now }: EpochRow): StoreEpoch {
  return { name, sinceMs: since, ageMs: now - since };
}

function addressOf({ url, protocol }: AddressRow): NodeAddress | undefined {
  return url === null ? undefined : { url, protocol: protocol ?? 0 };
}

const nothingAnswered = () =>
  new StoreUnavailable('away', 'Postgres has answered nothing', { retryAfterMs: 1000 });

class PostgresLog implements StreamLog {
  readonly #asking: Asking;
  readonly #limits: StoreLimits;
  /** The commands of each session are sent one after the other: each has a connection of its own. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(asking: Asking, limits: StoreLimits) {
    this.#asking = asking;
    this.#limits = limits;
  }

  append(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly StreamEvent[]) {
    return this.#inOrder(at.id, () => this.#write(at, entries, false));
  }

  put(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly StreamEvent[]) {
    return this.#inOrder(at.id, () => this.#write(at, entries, true));
  }

  async read(id: string): Promise<readonly StoredEvent[]> {
    const rows = await this.#asking.rows<{ body: string; age: number }>(
      'read',
      encoded(id),
      this.#limits.maxAgeMs,
    );
    return rows.map(({ body, age }) => ({ ...(JSON.parse(body) as StreamEvent), ageMs: age }));
  }

  async #write(
    { id, fence }: Pick<SessionRecord, 'id' | 'fence'>,
    entries: readonly StreamEvent[],
    isAll: boolean,
  ): Promise<WriteResult> {
    const texts = entries.map((entry) => JSON.stringify(entry));
    const values = [encoded(id), fence, texts.map(utf8Length), texts, isAll];
    const [row] = await this.#asking.rows<AppendedRow>('append', ...values);
    if (!row || row.events === null) {
      return row && Number(row.fence) > fence ? 'fenced' : 'behind';
    }
    const { maxEvents, maxBytes } = this.#limits;
    if (row.events > maxEvents || (row.bytes ?? 0) > maxBytes) {
      await this.#asking.rows('trim', encoded(id), maxEvents, maxBytes);
    }
    return 'written';
  }

  #inOrder<T>(id: string, write: () => Promise<T>): Promise<T> {
    const writing = (this.#last.get(id) ?? Promise.resolve()).then(write);
    const settled = writing.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(id, settled);
    void settled.then(() => {
      if (this.#last.get(id) === settled) this.#last.delete(id);
    });
    return writing;
  }
}

interface AppendedRow {
  readonly fence: string;
  readonly events: number | null;
  readonly bytes: number | null;
}

/** By notifications, which come in the order of their transactions, and to those who listen. */
class PostgresBroadcasts implements Broadcasts {
  readonly #asking: Asking;
  readonly #channel: string;
  /** The parts of the text that is coming. */
  #parts = '';

  constructor(asking: Asking, channel: string) {
    this.#asking = asking;
    this.#channel = channel;
  }

  async publish(text: string): Promise<void> {
    const whole = Buffer.from(text).toString('base64');
    const count = Math.max(1, Math.ceil(whole.length / maxPartLength));
    // Two of the same text would be one.
    const id = crypto.randomUUID();
    const parts = Array.from({ length: count }, (_, n) => {
      const part = whole.slice(n * maxPartLength, (n + 1) * maxPartLength);
      return `${id} ${n} ${count} ${part}`;
    });
    await this.#asking.rows('publish', this.#channel, parts);
  }

  subscribe(listener: BroadcastListener): Promise<void> {
    return new Promise((listening) => {
      let isFirst = true;
      this.#asking.postgres.watch((text) => {
        if (text !== undefined) return this.#heard(text, listener);
        if (!isFirst) listener.missed();
        isFirst = false;
        listening();
      });
    });
  }

  #heard(text: string, listener: BroadcastListener): void {
    const [, number = '0', count, part = ''] = text.split(' ');
    this.#parts = number === '0' ? part : this.#parts + part;
    if (Number(number) + 1 < Number(count)) return;
    listener.received(Buffer.from(this.#parts, 'base64').toString());
  }
}
