/**
 * Postgres, by way of the package `pg`, which is loaded only if no pool is given: whom commands go to,
 * how long they may take, and who is told of news.
 */
import { setTimeout } from 'node:timers/promises';
import type { SqlConnection } from '../../../../src/actors/request-context.ts';
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';
import { missingPackage } from '../../../processes/src/missing-package.ts';
import { sqlName } from './migrations.ts';

/** A connection of a pool, as `pg` has it. */
export interface PostgresClient extends SqlConnection {
  /** Gives it back; with `true` it is closed. */
  release(destroy?: boolean): void;
  /** Hears of `notification`, `error` and `end`. */
  on(event: string, listener: (...args: never[]) => void): unknown;
  /** Ends what `on` began. */
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
}

/** A pool of connections, as `pg` has it. */
export interface PostgresPool extends SqlConnection {
  /** Takes a connection, which is given back by `release`. Rejects if none can be had. */
  connect(): Promise<PostgresClient>;
  /** Closes all connections. */
  end(): Promise<void>;
  /** Hears of `error`, of an idle connection, and of `acquire`, when somebody takes a connection. */
  on(event: string, listener: (...args: never[]) => void): unknown;
  /** Settings: `max` connections; without them, 10 as in `pg`. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** How Postgres is reached. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=verify-full` and so on. Without one, PGHOST and its like say it. */
  readonly url?: string | undefined;
  /** A pool of your own, which stays yours to end, of at least 4 connections. One of them is kept to listen. */
  readonly pool?: PostgresPool | undefined;
  /** Settings of the pool that is made, as `pg` takes them, such as `ssl: { ca }` and `max`. */
  readonly settings?: { readonly [name: string]: unknown } | undefined;
  /** How long a command may take, milliseconds. */
  readonly commandTimeoutMs: number;
}

interface PgModule {
  readonly default: { readonly Pool: new (settings: object) => PostgresPool };
}

/** By name: no bundle takes it in. */
const packageName: string = 'pg';

async function madePool({
  url,
  settings,
  commandTimeoutMs,
}: PostgresOptions): Promise<PostgresPool> {
  let module: PgModule;
  try {
    module = (await import(packageName)) as PgModule;
  } catch (cause) {
    throw missingPackage('Tasks in Postgres need', packageName, cause);
  }
  return new module.default.Pool({
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: 'mcp-actors',
    connectionTimeoutMillis: commandTimeoutMs,
    // The server gives up what no caller waits for.
    statement_timeout: commandTimeoutMs,
    // A handler that hangs in its transaction keeps its locks no longer than this.
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    ...settings,
  });
}

const guarded = new WeakSet<PostgresClient>();

/**
 * Keeps the `error` of a lost connection from ending the process. The command that runs on the connection
 * fails with the same error, or the next one does.
 */
function guard(client: PostgresClient): void {
  if (guarded.has(client)) return;
  guarded.add(client);
  client.on('error', () => {});
}

/** Connections that a pool has by default, as `pg` does. */
const defaultPoolSize = 10;

/** Connections kept free of ordinary commands: one listens, one renews leases and creates tasks. */
const reservedConnections = 2;

/** Limits on the connections of a pool, which all stores that use the pool share. */
interface PoolLimits {
  /** Commands and transactions. */
  readonly ordinary: FairSemaphore;
  /** Transactions alone, which last as long as their author likes: fewer, so that commands still run. */
  readonly transactions: FairSemaphore;
}

const limitsByPool = new WeakMap<PostgresPool, PoolLimits>();

/** The limits of a pool, whose connections are guarded from now on. */
function limitsOf(pool: PostgresPool): PoolLimits {
  const known = limitsByPool.get(pool);
  if (known) return known;
  const ordinary = Math.max(1, (pool.options?.max ?? defaultPoolSize) - reservedConnections);
  const limits = {
    ordinary: new FairSemaphore(ordinary),
    transactions: new FairSemaphore(Math.max(1, ordinary - 1)),
  };
  limitsByPool.set(pool, limits);
  // A lost idle connection: the pool replaces it.
  pool.on('error', () => {});
  // Before `connect` settles: the server's last words may come in the same read as its first ones.
  pool.on('acquire', guard);
  return limits;
}

/** How soon it is tried to listen again, milliseconds. */
const listenAgainMs = 1000;

/** How long news are collected before others are told, milliseconds: each telling is a commit that others wait for. */
const tellAfterMs = 20;

/** The database of a store: every command settles in time, and news reach those who listen. */
export class Postgres {
  readonly #pool: PostgresPool;
  readonly #limits: PoolLimits;
  readonly #isOurs: boolean;
  readonly #channel: string;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  #telling: NodeJS.Timeout | undefined;

  private constructor(pool: PostgresPool, channel: string, options: PostgresOptions) {
    this.#pool = pool;
    this.#limits = limitsOf(pool);
    this.#isOurs = pool !== options.pool;
    this.#channel = channel;
    this.#timeoutMs = options.commandTimeoutMs;
  }

  /** @param channel the name under which news are told */
  static async open(channel: string, options: PostgresOptions): Promise<Postgres> {
    return new Postgres(options.pool ?? (await madePool(options)), channel, options);
  }

  /** @throws {Error} what Postgres answers; or it has not answered in time, and nothing is known */
  async rows<TRow>(text: string, values: unknown[] = []): Promise<readonly TRow[]> {
    const overdue = new AbortController();
    const query = () => this.#pool.query(text, values);
    const asked = this.#limits.ordinary.run(query, overdue.signal);
    const { rows } = await this.#inTime(asked, overdue);
    return rows as TRow[];
  }

  /** As {@link rows}, on the reserved connection if all others are taken. */
  async urgentRows<TRow>(text: string, values: unknown[] = []): Promise<readonly TRow[]> {
    const { rows } = await this.#inTime(this.#pool.query(text, values));
    return rows as TRow[];
  }

  /**
   * Runs a transaction on a connection of its own. Waits for a connection as long as other transactions
   * have them; `act` may take as long as it likes.
   * @throws what `act` throws, after all of it is undone
   */
  transaction<T>(act: (sql: SqlConnection) => Promise<T>): Promise<T> {
    const { transactions, ordinary } = this.#limits;
    return transactions.run(() => ordinary.run(() => this.#transaction(act)));
  }

  async #transaction<T>(act: (sql: SqlConnection) => Promise<T>): Promise<T> {
    const client = await this.#connection();
    let isReusable = false;
    try {
      await this.#inTime(client.query('BEGIN'));
      try {
        const done = await act(client);
        await this.#inTime(client.query('COMMIT'));
        isReusable = true;
        return done;
      } catch (error) {
        try {
          await this.#inTime(client.query('ROLLBACK'));
          isReusable = true;
        } catch {
          // The end of the connection undoes it.
        }
        throw error;
      }
    } finally {
      client.release(!isReusable);
    }
  }

  /** Tells those who listen that there is news, soon, and once for all of it. */
  tell(): void {
    this.#telling ??= globalThis.setTimeout(() => {
      this.#telling = undefined;
      // It is a commit, and need not wait for the disk.
      const text = `BEGIN; SET LOCAL synchronous_commit = off; NOTIFY ${sqlName(this.#channel)}; COMMIT`;
      // Who was not told looks by themselves.
      this.rows(text).catch(() => {});
    }, tellAfterMs);
  }

  /**
   * See TaskStore.watch. One connection is kept for it.
   * @param changed gets the text of the news; undefined whenever listening begins, and news may have been missed
   */
  watch(changed: (text?: string) => void): () => void {
    const watching = new AbortController();
    const signal = AbortSignal.any([watching.signal, this.#closing.signal]);
    void this.#listen(changed, signal);
    return () => watching.abort();
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#telling);
    if (this.#isOurs) await this.#inTime(this.#pool.end()).catch(() => {});
  }

  async #listen(changed: (text?: string) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Nothing is lost with it: watchers also look by themselves.
      await this.#hear(changed, signal).catch(() => {});
      await setTimeout(listenAgainMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Settles once the connection is lost, or is no longer needed. */
  async #hear(changed: (text?: string) => void, signal: AbortSignal): Promise<void> {
    const client = await this.#connection();
    try {
      const over = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      client.on('notification', ({ payload }: { readonly payload?: string }) =>
        changed(payload ?? ''),
      );
      await this.#inTime(client.query(`LISTEN ${sqlName(this.#channel)}`));
      // We were not listening before: assume a change.
      changed();
      await over;
    } finally {
      client.release(true);
    }
  }

  async #connection(): Promise<PostgresClient> {
    const connecting = this.#pool.connect();
    try {
      const client = await this.#inTime(connecting);
      guard(client);
      return client;
    } catch (error) {
      // One that comes later goes back.
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      throw error;
    }
  }

  /**
   * A pool of somebody's own may wait for a connection, or for an answer, for ever.
   * @param overdue aborted with the error once the time is over
   */
  #inTime<T>(asked: Promise<T>, overdue?: AbortController): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = globalThis.setTimeout(() => {
        const error = new Error(`Postgres has not answered in ${this.#timeoutMs} ms`);
        overdue?.abort(error);
        reject(error);
      }, this.#timeoutMs);
      asked.finally(() => clearTimeout(timer)).then(resolve, reject);
    });
  }
}
