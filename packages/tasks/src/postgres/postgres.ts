/**
 * Access to Postgres through the package `pg`, loaded only if no pool is given: connections, timeouts and
 * LISTEN/NOTIFY.
 */
import { setTimeout } from 'node:timers/promises';
import type { SqlConnection } from '../../../../src/actors/request-context.ts';
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';
import { missingPackage } from '../../../processes/src/missing-package.ts';
import { sqlName } from './migrations.ts';

/** A pooled connection of `pg`. */
export interface PostgresClient extends SqlConnection {
  /** Returns the connection to the pool; `true` closes it. */
  release(destroy?: boolean): void;
  /** Subscribes to `notification`, `error` or `end`. */
  on(event: string, listener: (...args: never[]) => void): unknown;
  /** Unsubscribes. */
  removeListener(event: string, listener: (...args: never[]) => void): unknown;
}

/** A connection pool of `pg`. */
export interface PostgresPool extends SqlConnection {
  /** Takes a connection, to return by `release`. Rejects if none is available. */
  connect(): Promise<PostgresClient>;
  /** Closes all connections. */
  end(): Promise<void>;
  /** Subscribes to `error` of an idle connection, or `acquire`. */
  on(event: string, listener: (...args: never[]) => void): unknown;
  /** Pool settings, such as `max` connections. Default: 10, as in `pg`. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** Connection options. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=verify-full` and so on. Default: from PGHOST and the like. */
  readonly url?: string | undefined;
  /** Your own pool of at least 4 connections, which the store does not end. One connection is kept to listen. */
  readonly pool?: PostgresPool | undefined;
  /** Options of the created pool, passed to `pg`, such as `ssl: { ca }` and `max`. */
  readonly settings?: { readonly [name: string]: unknown } | undefined;
  /** Timeout of a command, milliseconds. */
  readonly commandTimeoutMs: number;
}

interface PgModule {
  readonly default: { readonly Pool: new (settings: object) => PostgresPool };
}

/** Imported by a computed name, so that bundlers do not include it. */
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
    // Makes the server cancel statements that no caller awaits.
    statement_timeout: commandTimeoutMs,
    // Limits how long a hanging transaction of a handler holds its locks.
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    ...settings,
  });
}

const guarded = new WeakSet<PostgresClient>();

/**
 * Keeps the `error` event of a lost connection from crashing the process. The current or next command fails with the
 * same error.
 */
function guard(client: PostgresClient): void {
  if (guarded.has(client)) return;
  guarded.add(client);
  client.on('error', () => {});
}

/** Default size of a pool, as in `pg`. */
const defaultPoolSize = 10;

/** Connections kept free of ordinary commands: one listens, one renews leases and creates tasks. */
const reservedConnections = 2;

/** Concurrency limits of a pool, shared by all its stores. */
interface PoolLimits {
  /** Limit of commands and transactions. */
  readonly ordinary: FairSemaphore;
  /** Limit of transactions. Lower, because handlers decide their duration and commands must still run. */
  readonly transactions: FairSemaphore;
}

const limitsByPool = new WeakMap<PostgresPool, PoolLimits>();

/** Returns the limits of a pool, and guards its connections. */
function limitsOf(pool: PostgresPool): PoolLimits {
  const known = limitsByPool.get(pool);
  if (known) return known;
  const ordinary = Math.max(1, (pool.options?.max ?? defaultPoolSize) - reservedConnections);
  const limits = {
    ordinary: new FairSemaphore(ordinary),
    transactions: new FairSemaphore(Math.max(1, ordinary - 1)),
  };
  limitsByPool.set(pool, limits);
  // The pool replaces a lost idle connection.
  pool.on('error', () => {});
  // Attach before `connect` settles, because an error may arrive in the same read.
  pool.on('acquire', guard);
  return limits;
}

/** Retry delay of LISTEN, milliseconds. */
const listenAgainMs = 1000;

/** Interval in which notifications are batched, milliseconds, because each NOTIFY is a serialized commit. */
const tellAfterMs = 20;

/** The database of a store, with command timeouts and change notifications. */
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

  /** @param channel name of the notification channel */
  static async open(channel: string, options: PostgresOptions): Promise<Postgres> {
    return new Postgres(options.pool ?? (await madePool(options)), channel, options);
  }

  /** @throws {Error} the error of Postgres, or a timeout after which the outcome is unknown */
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
   * Runs a transaction on its own connection, waiting for one if necessary. `act` has no timeout.
   * @throws what `act` throws, after a rollback
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
          // Closing the connection rolls back.
        }
        throw error;
      }
    } finally {
      client.release(!isReusable);
    }
  }

  /** Schedules a notification; repeated calls are batched. */
  tell(): void {
    this.#telling ??= globalThis.setTimeout(() => {
      this.#telling = undefined;
      // The commit of a notification need not wait for the disk.
      const text = `BEGIN; SET LOCAL synchronous_commit = off; NOTIFY ${sqlName(this.#channel)}; COMMIT`;
      // Watchers also poll.
      this.rows(text).catch(() => {});
    }, tellAfterMs);
  }

  /**
   * Watches the channel on a dedicated connection; see TaskStore.watch.
   * @param changed receives the notification's text; undefined after each (re)connect, when notifications may be lost
   */
  watch(changed: (text?: string) => void): () => void {
    const watching = new AbortController();
    const signal = AbortSignal.any([watching.signal, this.#closing.signal]);
    void this.#listen(changed, signal);
    return () => watching.abort();
  }

  /** Listens until the last watcher has left, reconnecting as needed. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#telling);
    if (this.#isOurs) await this.#inTime(this.#pool.end()).catch(() => {});
  }

  async #listen(changed: (text?: string) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Watchers also poll, so no change is lost.
      await this.#hear(changed, signal).catch(() => {});
      await setTimeout(listenAgainMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Settles once the connection is lost or no longer needed. */
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
      // Return a connection that arrives too late.
      connecting.then(
        (client) => client.release(),
        () => {},
      );
      throw error;
    }
  }

  /**
   * Adds a timeout, because a caller's pool may wait forever for a connection or a reply.
   * @param overdue aborts with the error after the timeout
   */
  #inTime<T>(asked: Promise<T>, overdue?: AbortController): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = globalThis.setTimeout(() => {
        const error = new Error(`Postgres did not answer within ${this.#timeoutMs} ms`);
        overdue?.abort(error);
        reject(error);
      }, this.#timeoutMs);
      asked.finally(() => clearTimeout(timer)).then(resolve, reject);
    });
  }
}
