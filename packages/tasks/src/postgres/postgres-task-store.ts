/**
 * Task store in Postgres 13 or newer, for any number of nodes. Each write is one statement, or one transaction together
 * with the handler's own SQL. Uses the server's clock.
 */
import { assertDuration } from '../../../../src/actors/clock.ts';
import type { SqlConnection } from '../../../../src/actors/request-context.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
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
  TaskStep,
  TaskStore,
  WriteResult,
} from '../task-store.ts';
import { quotaExceeded } from '../task-store.ts';
import { migrate, placeIn } from './migrations.ts';
import { Postgres } from './postgres.ts';
import type { PostgresOptions } from './postgres.ts';

/** Options of the Postgres store. Connects by `url`, or through your own pool. */
export interface PostgresTaskStoreOptions extends Partial<PostgresOptions> {
  /** Schema of the tables; nodes with the same schema share tasks. Default: `mcp_actors`. */
  readonly schema?: string;
  /** Duration of a lease without renewal, milliseconds. Default: 30 s. */
  readonly leaseMs?: number;
  /** Creates and migrates the tables as needed. Otherwise they must exist. Default: true. */
  readonly migrate?: boolean;
}

const defaults = {
  schema: 'mcp_actors',
  leaseMs: 30_000,
  commandTimeoutMs: 5000,
  migrate: true,
} as const;

/** SQL interval after which an expired lease without open tasks is deleted. */
const forgetLeasesAfter = `interval '1 day'`;

/** Batch size of deleting expired tasks. */
const forgottenAtOnce = 1000;

/** A task row. Postgres returns 64-bit numbers as texts. */
interface TaskRow {
  readonly id: string;
  readonly server: string;
  readonly owner: string;
  readonly fence: string;
  readonly claims: number;
  readonly state: TaskRecord['state'];
  readonly body: string;
  readonly ttl: number;
  readonly due: number | null;
  readonly is_owned?: boolean;
  readonly steps: readonly { readonly key: string; readonly text: string }[];
}

type Statements = ReturnType<typeof statementsIn>;

function statementsIn(schema: string) {
  const at = placeIn(schema);
  const [tasks, steps, leases, shares] = [at('tasks'), at('steps'), at('leases'), at('shares')];
  // A subselect evaluates the time once per statement, so that an index can be used.
  const now = '(SELECT clock_timestamp())';
  const ms = (value: string) => `${value} * interval '1 millisecond'`;
  /** Columns of a task t, without its steps. */
  const until = (at: string) => `greatest(0, extract(epoch FROM ${at} - ${now}) * 1000)::float8`;
  const record = `t.id, t.server, t.owner, t.fence, t.claims, t.state, t.body, ${until('t.expires_at')} AS ttl,
    CASE WHEN t.owner = '' AND t.state = 'open' THEN ${until('t.due_at')} END AS due`;
  const stepsOf = `coalesce((SELECT json_agg(json_build_object('key', s.key, 'text', s.body) ORDER BY s.place)
    FROM ${steps} s WHERE s.task = t.id AND t.state = 'open'), '[]') AS steps`;
  const isOwned = `EXISTS (SELECT FROM ${leases} l WHERE l.owner = t.owner AND l.ends_at > ${now})`;
  /** Selects an open task by id; with a fence, only for its holder. */
  const writable = `id = $1 AND state = 'open' AND expires_at > ${now} AND fence = coalesce($2::bigint, fence)`;
  const claimable = `t.state = 'open' AND t.server = $2 AND t.id = coalesce($3, t.id) AND t.expires_at > ${now}
    AND t.id <> ALL($5::text[])`;
  /** Inserts steps of the statement's task, from arrays of keys and texts. */
  const stepsFrom = (keys: string, texts: string) =>
    `SELECT task.id, s.key, s.body FROM task, unnest(${keys}::text[], ${texts}::text[]) WITH ORDINALITY
      s (key, body, place) ORDER BY s.place`;
  const appended = `step AS (INSERT INTO ${steps} (task, key, body) ${stepsFrom('$3', '$4')}
    ON CONFLICT (task, key) DO UPDATE SET body = excluded.body WHERE $2::bigint IS NOT NULL)`;
  /** Deletes tasks and updates their quotas, in a fixed order to avoid deadlocks. */
  const forget = (some: string) => `WITH gone AS (DELETE FROM ${tasks} WHERE id = ANY(ARRAY(
      SELECT id FROM ${tasks} WHERE ${some})) RETURNING share),
    less AS (SELECT share, count(*)::int AS n FROM gone GROUP BY share),
    held AS (SELECT s.share, less.n FROM ${shares} s JOIN less USING (share) ORDER BY s.share FOR UPDATE OF s)
    UPDATE ${shares} s SET kept = kept - n FROM held WHERE s.share = held.share RETURNING s.share, s.kept`;
  const upTo = `pg_snapshot_xmin(pg_current_snapshot())::text AS "upTo",
    extract(epoch FROM ${now})::float8 * 1000 AS now`;
  return {
    lease: `INSERT INTO ${leases} VALUES ($1, ${now} + ${ms('$2::float8')})
      ON CONFLICT (owner) DO UPDATE SET ends_at = excluded.ends_at`,
    leave: `UPDATE ${leases} SET ends_at = ${now} WHERE owner = $1`,
    // SKIP LOCKED: another process may be deleting the same rows.
    forgetTasks: forget(
      `expires_at <= ${now} ORDER BY expires_at LIMIT ${forgottenAtOnce} FOR UPDATE SKIP LOCKED`,
    ),
    // Waits for concurrent updates of the same row.
    forgetOver: forget(
      `expires_at <= ${now} ORDER BY expires_at, id LIMIT ${forgottenAtOnce} FOR UPDATE`,
    ),
    makeRoom: forget(`lets_go AND share = $1 ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED`),
    forgetShares: `DELETE FROM ${shares} WHERE share = ANY($1) AND kept = 0`,
    forgetLeases: `DELETE FROM ${leases} l WHERE ends_at < ${now} - ${forgetLeasesAfter}
      AND NOT EXISTS (SELECT FROM ${tasks} t WHERE t.owner = l.owner AND t.state = 'open')`,
    create: `WITH room AS (INSERT INTO ${shares} AS s SELECT $8, 1 WHERE $9::int > 0
        ON CONFLICT (share) DO UPDATE SET kept = s.kept + 1 WHERE s.kept < $9 RETURNING kept),
      task AS (INSERT INTO ${tasks} (id, server, owner, fence, claims, state, body, expires_at, share)
        SELECT $1, $2, $3, 1, 0, 'open', $4, ${now} + ${ms('$5::float8')}, coalesce($8, '')
        WHERE $8::text IS NULL OR EXISTS (SELECT FROM room) RETURNING id),
      step AS (INSERT INTO ${steps} (task, key, body) ${stepsFrom('$6', '$7')})
      SELECT id FROM task`,
    read: `SELECT ${record}, ${stepsOf}, ${isOwned} AS is_owned FROM ${tasks} t
      WHERE t.id = $1 AND t.expires_at > ${now}`,
    // Serialized with claims of the same task.
    append: `WITH task AS (SELECT id FROM ${tasks} WHERE ${writable} FOR SHARE), ${appended}
      SELECT id FROM task`,
    // $5: parking time; $6: true to announce the change.
    progress: `WITH task AS (UPDATE ${tasks} SET
        owner = CASE WHEN $5::float8 IS NULL THEN owner ELSE '' END,
        due_at = CASE WHEN $2::bigint IS NULL THEN ${now}
          WHEN $5::float8 IS NOT NULL THEN least(due_at, ${now} + ${ms('$5::float8')}) ELSE due_at END,
        changed = CASE WHEN $6::boolean THEN pg_current_xact_id() ELSE changed END
        WHERE ${writable} RETURNING id), ${appended}
      SELECT id FROM task`,
    finish: `WITH ended AS (UPDATE ${tasks} SET state = 'ended', body = $3, changed = pg_current_xact_id(), lets_go = $4
        WHERE ${writable} RETURNING id),
      gone AS (DELETE FROM ${steps} USING ended WHERE task = ended.id)
      SELECT id FROM ended`,
    whyNot: `SELECT state FROM ${tasks} WHERE id = $1 AND expires_at > ${now}`,
    writable: `SELECT id FROM ${tasks} WHERE ${writable}`,
    // $3: limits how long a stopped process holds the lock.
    hold: `SELECT id, set_config('idle_in_transaction_session_timeout', $3, true) FROM ${tasks}
      WHERE ${writable} FOR SHARE`,
    // Waits for the transaction that may have written the step.
    settle: `SELECT id FROM ${tasks} WHERE id = $1 FOR UPDATE`,
    step: `SELECT body FROM ${steps} WHERE task = $1 AND key = $2`,
    // SKIP LOCKED: tasks that others are claiming are theirs.
    claim: `WITH lost AS (SELECT t.id FROM ${tasks} t
        JOIN ${leases} l ON l.owner = t.owner AND l.ends_at <= ${now}
        WHERE t.owner <> '' AND t.owner <> $1 AND ${claimable} LIMIT $4 FOR UPDATE OF t SKIP LOCKED),
      due AS (SELECT t.id FROM ${tasks} t WHERE t.owner = '' AND t.due_at <= ${now} AND ${claimable}
        ORDER BY t.due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
      unheard AS (SELECT t.id FROM ${tasks} t WHERE t.owner <> '' AND t.owner = $1
        AND t.id <> ALL($6::text[]) AND ${claimable} LIMIT $4 FOR UPDATE SKIP LOCKED),
      free AS (SELECT id FROM unheard UNION ALL SELECT id FROM lost UNION ALL SELECT id FROM due LIMIT $4)
      UPDATE ${tasks} t SET claims = claims + (owner NOT IN ('', $1))::int, owner = $1, fence = fence + 1, due_at = NULL,
        changed = pg_current_xact_id() FROM free WHERE t.id = free.id RETURNING t.id`,
    claimed: `SELECT ${record}, ${stepsOf} FROM ${tasks} t WHERE t.id = ANY($2) AND t.owner = $1 AND t.state = 'open'`,
    next: `SELECT ${until('due_at')} AS due FROM ${tasks}
      WHERE state = 'open' AND owner = '' AND server = $1 AND expires_at > ${now} AND due_at > ${now} ORDER BY due_at LIMIT 1`,
    list: `SELECT ${record}, ${stepsOf}, ${isOwned} AS is_owned FROM ${tasks} t
      WHERE t.id > $1 AND t.expires_at > ${now} ORDER BY t.id LIMIT $2`,
    // All transactions below this number have ended.
    upTo: `SELECT ${upTo}`,
    changes: `SELECT ${upTo}, coalesce((SELECT json_agg(json_build_object('id', id, 'by', changed::text)) FROM ${tasks}
        WHERE changed >= $1::text::xid8), '[]') AS changed`,
  } as const;
}

/**
 * Opens a task store in Postgres. Creates the tables if needed.
 *
 * @throws {Error} Postgres is unreachable; the tables are newer, or may not be created; the package `pg` is missing
 * @throws {TypeError} {RangeError} an option is invalid
 */
export async function postgresTaskStore(options: PostgresTaskStoreOptions): Promise<TaskStore> {
  const given = { ...defaults, ...options };
  for (const name of ['leaseMs', 'commandTimeoutMs'] as const) assertDuration(name, given[name]);
  const statements = statementsIn(given.schema);
  const postgres = await Postgres.open(given.schema, given);
  try {
    await postgres.transaction((sql) => migrate(sql, given.schema, given.migrate));
  } catch (error) {
    await postgres.close();
    throw error;
  }
  return new PostgresTaskStore(postgres, statements, given.leaseMs);
}

class PostgresTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #postgres: Postgres;
  readonly #statements: Statements;
  /** Changes that were returned and will be read again, by the position of the next read. */
  readonly #told = new Map<number, ReadonlySet<string>>();

  constructor(postgres: Postgres, statements: Statements, leaseMs: number) {
    this.#postgres = postgres;
    this.#statements = statements;
    this.leaseMs = leaseMs;
  }

  async lease(owner: string): Promise<void> {
    await this.#urgent('lease', owner, this.leaseMs);
    await this.#forget('forgetTasks');
    await this.#rows('forgetLeases');
  }

  async leave(owner: string): Promise<void> {
    await this.#rows('leave', owner);
  }

  async create(task: NewTaskRecord): Promise<TaskClaim> {
    const { taskId, server, owner, text, ttlMs, steps = [], quota } = task;
    const values = [taskId, server, owner, text, ttlMs, ...columnsOf(steps)];
    const create = async () =>
      (await this.#urgent('create', ...values, quota?.key ?? null, quota?.max ?? 0)).length > 0;
    if (await create()) return { taskId, fence: 1 };
    // What has expired is removed when a lease is prolonged, and now.
    await this.#forget('forgetOver');
    while (!(await create())) {
      if (quota && !(await this.#forget('makeRoom', quota.key))) throw quotaExceeded(quota);
    }
    return { taskId, fence: 1 };
  }

  /** @returns true if a deleted task had counted towards its quota */
  async #forget(
    which: 'forgetTasks' | 'forgetOver' | 'makeRoom',
    ...values: unknown[]
  ): Promise<boolean> {
    const shares = await this.#rows<ShareRow>(which, ...values);
    const empty = shares.flatMap(({ share, kept }) => (kept === 0 ? [share] : []));
    if (empty.length > 0) await this.#rows('forgetShares', empty);
    return shares.length > 0;
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    // Postgres texts cannot contain a NUL.
    if (taskId.includes('\0')) return undefined;
    const [row] = await this.#rows<TaskRow>('read', taskId);
    return row && foundOf(row);
  }

  async append(
    { taskId, ...claim }: UnfencedClaim | TaskClaim,
    { steps, parkForMs, isAnnounced = false }: TaskProgress,
  ): Promise<WriteResult> {
    const fence = 'fence' in claim ? claim.fence : null;
    const tells = isAnnounced || fence === null;
    const values = [taskId, fence, ...columnsOf(steps)];
    const writing =
      tells || parkForMs !== undefined
        ? this.#rows('progress', ...values, parkForMs ?? null, tells)
        : this.#rows('append', ...values);
    const became = await this.#written(taskId, writing);
    if (became === 'written' && tells) this.#postgres.tell();
    return became;
  }

  async appendWith(
    { taskId, fence }: TaskClaim,
    key: string,
    make: (sql: SqlConnection) => Promise<string>,
  ): Promise<WriteResult> {
    const { hold, append } = this.#statements;
    // An unavailable store does not contradict the step.
    const [found] = await this.#rows('writable', taskId, fence).catch(() => [{}]);
    if (!found) return this.#whyNot(taskId);
    let connected: Promise<SqlConnection> | undefined;
    let writing: Promise<readonly object[]> | undefined;
    const begin = () =>
      new Promise<SqlConnection>((resolve, reject) => {
        writing = this.#postgres.transaction(async (sql) => {
          // The row lock blocks claims and ends until the commit.
          const held = await sql.query(hold, [taskId, fence, String(this.leaseMs)]);
          if (held.rows.length === 0) {
            reject(new RuntimeError('CANCELLED', `Task ${taskId} was ended or claimed`));
            return [];
          }
          resolve(sql);
          const step = columnsOf([{ key, text: await making }]);
          const { rows } = await sql.query(append, [taskId, fence, ...step]);
          return rows as readonly object[];
        });
        writing.catch(reject);
      });
    // The connection is taken at the first query, so steps without queries survive an outage.
    const sql = {
      query: async (...query: Parameters<SqlConnection['query']>) =>
        (await (connected ??= begin())).query(...query),
    };
    const making = make(sql);
    const [made] = await Promise.allSettled([making]);
    if (!writing) return this.append({ taskId, fence }, { steps: [{ key, text: await making }] });
    try {
      return await this.#written(taskId, writing);
    } catch (error) {
      // The connection may have been lost after the commit.
      const isMade = made.status === 'fulfilled';
      if (isMade && (await this.#hasStep(taskId, key, made.value))) return 'written';
      throw error;
    }
  }

  async finish(
    { taskId, ...claim }: UnfencedClaim | TaskClaim,
    text: string,
    letsGo = false,
  ): Promise<WriteResult> {
    const fence = 'fence' in claim ? claim.fence : null;
    const became = await this.#written(taskId, this.#rows('finish', taskId, fence, text, letsGo));
    if (became === 'written') this.#postgres.tell();
    return became;
  }

  async claim(request: ClaimRequest): Promise<ClaimedTasks> {
    const { owner, server, taskId = null, max, except = [], held = null } = request;
    const values = [owner, server, taskId, max, except, held];
    const given = await this.#rows<Pick<TaskRow, 'id'>>('claim', ...values);
    const ids = given.map(({ id }) => id);
    const [tasks, [next]] = await Promise.all([
      // The claim has fenced off the previous owner, so the steps are final only now.
      ids.length > 0 ? this.#rows<TaskRow>('claimed', owner, ids) : [],
      this.#rows<Pick<TaskRow, 'due'>>('next', server),
    ]);
    if (ids.length > 0) this.#postgres.tell();
    return { tasks: tasks.map(recordOf), nextInMs: next?.due ?? undefined };
  }

  async list({ after = '', max }: TaskListRequest): Promise<readonly FoundTask[]> {
    return (await this.#rows<TaskRow>('list', after, max)).map(foundOf);
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    if (since === undefined) {
      const [row] = await this.#rows<Now>('upTo');
      return { upTo: Number(row?.upTo), taskIds: [], now: row?.now ?? 0 };
    }
    const [found] = await this.#rows<
      Now & { readonly changed: readonly { readonly id: string; readonly by: string }[] }
    >('changes', since);
    const upTo = Number(found?.upTo);
    const told = this.#told.get(since);
    const changed = found?.changed ?? [];
    const news = changed.filter(({ id, by }) => !told?.has(`${by} ${id}`));
    // These changes are read again while an older transaction runs.
    const again = changed.filter(({ by }) => Number(by) >= upTo).map(({ id, by }) => `${by} ${id}`);
    for (const older of this.#told.keys()) if (older < since) this.#told.delete(older);
    this.#told.set(upTo, new Set(again));
    return { upTo, taskIds: [...new Set(news.map(({ id }) => id))], now: found?.now ?? 0 };
  }

  watch(changed: () => void): () => void {
    return this.#postgres.watch(changed);
  }

  close(): Promise<void> {
    return this.#postgres.close();
  }

  #rows<TRow extends object>(
    name: keyof Statements,
    ...values: unknown[]
  ): Promise<readonly TRow[]> {
    return this.#postgres.rows(this.#statements[name], values);
  }

  /** Runs a statement on the reserved connection if all others are busy. */
  #urgent<TRow extends object>(
    name: keyof Statements,
    ...values: unknown[]
  ): Promise<readonly TRow[]> {
    return this.#postgres.urgentRows(this.#statements[name], values);
  }

  async #written(taskId: string, writing: Promise<readonly object[]>): Promise<WriteResult> {
    return (await writing).length > 0 ? 'written' : this.#whyNot(taskId);
  }

  async #whyNot(taskId: string): Promise<WriteResult> {
    const [row] = await this.#rows<Pick<TaskRow, 'state'>>('whyNot', taskId);
    return row?.state === 'open' ? 'fenced' : 'ended';
  }

  #hasStep(taskId: string, key: string, text: string): Promise<boolean> {
    const { settle, step } = this.#statements;
    return this.#postgres.transaction(async (sql) => {
      await sql.query(settle, [taskId]);
      const { rows } = await sql.query(step, [taskId, JSON.stringify(key)]);
      return (rows as { readonly body: string }[]).some(({ body }) => body === text);
    });
  }
}

/** A quota row. */
interface ShareRow {
  readonly share: string;
  readonly kept: number;
}

/** Transaction horizon and time. */
interface Now {
  readonly upTo: string;
  readonly now: number;
}

/** Converts steps to parameter arrays, keeping the last of each key. Encodes keys that Postgres texts cannot hold. */
function columnsOf(steps: readonly TaskStep[]): readonly [readonly string[], readonly string[]] {
  const last = new Map(steps.map(({ key, text }) => [JSON.stringify(key), text]));
  return [[...last.keys()], [...last.values()]];
}

function foundOf(row: TaskRow): FoundTask {
  return { record: recordOf(row), isOwned: row.is_owned === true };
}

function recordOf(row: TaskRow): TaskRecord {
  const { id, server, owner, fence, claims, state, ttl, due, body, steps } = row;
  return {
    ...{ server, owner, claims, state },
    taskId: id,
    fence: Number(fence),
    text: body,
    ttlMs: ttl,
    ...(due === null ? {} : { dueInMs: due }),
    steps: steps.map(({ key, text }) => ({ key: JSON.parse(key) as string, text })),
  };
}
