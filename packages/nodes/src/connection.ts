import { ConnectionTimeoutError, ErrorReply, createClient } from 'redis';
import type { RedisClientOptions } from 'redis';
import { StoreUnavailable } from '../../http/src/nodes/stores.ts';
import type { StoreFault } from '../../http/src/nodes/stores.ts';
import { redisLinkChart } from './redis-link.machine.ts';
import type { RedisLinkEvent } from './redis-link.machine.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { createHash } from 'node:crypto';

/** A reply of Redis in RESP 2. */
export type Reply = string | number | null | readonly Reply[];

/**
 * The parts used of a client of the package `redis`, made by `createClient`, `createCluster` or
 * `createSentinel`.
 */
export interface RedisClientLike {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  duplicate(): RedisClientLike;
  destroy(): unknown;
  on(event: 'error' | 'connect', listener: (error?: unknown) => void): unknown;
  // The three clients have different parameters.
  sendCommand(...args: never[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  /** Only on clients made by `createClient`. */
  readonly options?: unknown;
}

type ClientSettings = Pick<RedisClientOptions, 'username' | 'password' | 'database' | 'socket'>;

export interface RedisConnectionOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]`. Not combined with a ready client. */
  readonly url?: string;
  /** A ready client, or settings for a new one, such as `socket: { tls: true, ca }`. */
  readonly client?: RedisClientLike | ClientSettings;
  /** Time limit of a command, milliseconds. */
  readonly commandTimeoutMs: number;
  /** Maximum pending commands. */
  readonly maxCommands: number;
  /** Maximum size of all pending commands, bytes. */
  readonly maxCommandBytes: number;
  /** Silence after which the connection is closed and reopened, milliseconds. */
  readonly socketTimeoutMs: number;
  /** Maximum delay between reconnects, milliseconds. */
  readonly maxReconnectMs: number;
  /**
   * Pings Redis regularly: a subscriber sends nothing else, and its silence would look like a lost
   * connection.
   */
  readonly isSubscriber?: boolean;
}

function isReady(client: RedisConnectionOptions['client']): client is RedisClientLike {
  return client !== undefined && 'sendCommand' in client;
}

const isCluster = (client: RedisClientLike): boolean => 'nodeByAddress' in client;

/** Sends a command with the parameters of this kind of client. */
function sendCommand(
  client: RedisClientLike,
  key: string | undefined,
  args: string[],
): Promise<unknown> {
  const send = client.sendCommand.bind(client) as (...all: unknown[]) => Promise<unknown>;
  if (isCluster(client)) return send(key, false, args);
  return 'getSentinelNode' in client ? send(false, args) : send(args);
}

const newRedisClient = (options: NewClientOptions) => {
  const { url, client, socketTimeoutMs, maxReconnectMs, commandTimeoutMs } = options;
  return createClient({
    ...client,
    ...(url === undefined ? {} : { url }),
    RESP: 2,
    // Command timeouts are handled in this module.
    commandOptions: { timeout: 0 },
    ...(options.isSubscriber ? { pingInterval: socketTimeoutMs / 3 } : {}),
    // Commands fail at once instead of waiting for a connection.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: commandTimeoutMs,
      socketTimeout: socketTimeoutMs,
      // Jitter spreads the reconnects of nodes that lost the store together.
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** retries, maxReconnectMs) * (0.5 + Math.random() / 2),
      ...client?.socket,
    } as RedisClientOptions['socket'] & object,
  });
};

type NewClientOptions = Omit<RedisConnectionOptions, 'client'> & {
  readonly client?: ClientSettings;
};

/**
 * Faults by the first word of an error reply. Others are `refused`: the command is not permitted,
 * or the server is not Redis.
 */
const faults: { readonly [word: string]: StoreFault } = {
  OOM: 'full',
  MISCONF: 'full',
  NOREPLICAS: 'full',
  LOADING: 'away',
  BUSY: 'slow',
  MASTERDOWN: 'away',
  CLUSTERDOWN: 'away',
  TRYAGAIN: 'away',
  READONLY: 'away',
};

/** Faults of the states in which commands are rejected. */
const faultInState = { connecting: 'away', stalled: 'slow', closed: 'closed' } as const;

interface PendingCommand {
  readonly untilMs: number;
  onOverdue(): void;
}

/**
 * A connection to Redis on which nothing waits long: each command settles within
 * `commandTimeoutMs`, with a reply or with `StoreUnavailable`. After a late reply, further commands
 * are rejected at once until Redis answers again.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #scripts: readonly Script[];
  /** Caller-owned client: we neither close nor reconnect it. */
  readonly #providedClient: RedisClientLike | undefined;
  #client: RedisClientLike;
  /** True if `#client` is ours to close: always, except for a caller-owned client. */
  #ownsClient: boolean;
  #state = redisLinkChart.initial;
  /** Oldest first, because all commands have the same time limit. */
  readonly #pending = new Set<PendingCommand>();
  #pendingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastError: unknown;

  /** @param scripts scripts loaded on each new connection */
  constructor(options: RedisConnectionOptions, scripts: readonly Script[] = []) {
    this.#options = options;
    this.#scripts = scripts;
    const { client } = options;
    this.#providedClient = isReady(client) ? client : undefined;
    this.#ownsClient = !this.#providedClient;
    this.#client = this.#providedClient ?? this.#newClient();
    if (this.#providedClient) this.#addListeners(this.#providedClient);
  }

  /** A second connection to the same Redis, for subscriptions. */
  forSubscriber(): RedisConnection {
    const client = this.#providedClient?.duplicate();
    const options = { ...this.#options, isSubscriber: true, ...(client && { client }) };
    const another = new RedisConnection(options);
    another.#ownsClient = true;
    return another;
  }

  /**
   * Opens the first connection, within five command timeouts.
   *
   * @throws {StoreUnavailable} if an address or a password is wrong, or Redis does not answer
   */
  async open(): Promise<void> {
    const client = this.#client;
    const patienceMs = 5 * this.#options.commandTimeoutMs;
    const made = this.#providedClient ? undefined : (client as ReturnType<typeof newRedisClient>);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(this.#unavailable('slow')), patienceMs);
        made?.once('ready', () => resolve());
        made?.on('error', (error) => {
          // Timeouts are retried: a starting process may be too busy to notice the connection.
          if (!(error instanceof ConnectionTimeoutError)) reject(this.#unavailable('away'));
        });
        const connected = client.isOpen ? Promise.resolve() : client.connect();
        connected.then(
          () => {
            this.#move({ type: 'link.connected' });
            resolve();
          },
          (error: unknown) => {
            this.#lastError = error;
            reject(this.#unavailable('away'));
          },
        );
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the connection without waiting for Redis. */
  close(): void {
    this.#move({ type: 'link.close' });
    if (this.#ownsClient) this.#destroy(this.#client);
    for (const { onOverdue } of [...this.#pending]) onOverdue();
    clearTimeout(this.#timer);
  }

  /** True if keys may be on several masters, so that a script may only use keys of one slot. */
  get isCluster(): boolean {
    return isCluster(this.#client);
  }

  get isClosed(): boolean {
    return this.#state.status === 'done';
  }

  /** Runs a script by its digest, which each new connection loads first. */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.command(['EVALSHA', script.digest, ...rest], keys[0]);
    } catch (error) {
      // The scripts were flushed.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.command(['EVAL', script.text, ...rest], keys[0]);
    }
  }

  /**
   * Subscribes to a channel, and again after a reconnect.
   *
   * @throws {StoreUnavailable}
   */
  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    try {
      await this.#client.subscribe(channel, listener);
    } catch (error) {
      throw this.#errorFor(error);
    }
  }

  /** Configured host and port; undefined for a cluster, Sentinel or Unix socket. */
  get target(): { readonly host: string; readonly port: number } | undefined {
    const { socket } = (this.#client.options ?? {}) as {
      readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
    };
    if (!('options' in this.#client) || socket?.path !== undefined) return undefined;
    return { host: socket?.host ?? 'localhost', port: socket?.port ?? 6379 };
  }

  /** @param key selects the master in a cluster */
  command(args: string[], key?: string): Promise<Reply> {
    const bytes = args.reduce((sum, { length }) => sum + length, 0);
    const { maxCommands, maxCommandBytes } = this.#options;
    const { value } = this.#state;
    if (value !== 'ready') return Promise.reject(this.#unavailable(faultInState[value]));
    const isBusy =
      this.#pending.size >= maxCommands || this.#pendingBytes + bytes > maxCommandBytes;
    if (isBusy && this.#pending.size > 0) return Promise.reject(this.#unavailable('busy'));
    return this.#send(args, key, bytes);
  }

  #send(args: string[], key: string | undefined, bytes: number): Promise<Reply> {
    const timeoutMs = this.#options.commandTimeoutMs;
    return new Promise<Reply>((resolve, reject) => {
      const waiting: PendingCommand = {
        untilMs: performance.now() + timeoutMs,
        onOverdue: () => {
          settle();
          reject(this.#unavailable(this.isClosed ? 'closed' : 'slow'));
        },
      };
      const settle = (): void => {
        if (this.#pending.delete(waiting)) this.#pendingBytes -= bytes;
      };
      this.#pending.add(waiting);
      this.#pendingBytes += bytes;
      this.#timer ??= this.#scheduleTimeout(timeoutMs);
      sendCommand(this.#client, key, args).then(
        (reply) => {
          settle();
          this.#move({ type: 'reply.received' });
          resolve(reply as Reply);
        },
        (error: unknown) => {
          settle();
          reject(this.#errorFor(error));
        },
      );
    });
  }

  /** Handles pending replies first: this process may have been busy, not Redis slow. */
  #scheduleTimeout(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#rejectOverdue()), afterMs);
  }

  #rejectOverdue(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const { untilMs, onOverdue } of this.#pending) {
      if (untilMs > nowMs) break;
      // A caller-owned client may not report a reconnect; the next command finds out.
      if (!this.#providedClient) this.#move({ type: 'reply.timedOut' });
      onOverdue();
    }
    const [next] = this.#pending;
    if (next) this.#timer = this.#scheduleTimeout(Math.max(1, next.untilMs - nowMs));
  }

  #errorFor(error: unknown): Error {
    if (!(error instanceof ErrorReply)) {
      return this.#unavailable(this.isClosed ? 'closed' : 'away', error);
    }
    this.#move({ type: 'reply.received' });
    const word = /^[A-Z]+/.exec(error.message)?.[0] ?? '';
    if (word === 'NOSCRIPT') return error;
    // The former primary became a replica; the address may now lead to the new primary.
    if (word === 'READONLY' && !this.#providedClient) this.#reconnect();
    return this.#unavailable(faults[word] ?? 'refused', error);
  }

  #reconnect(): void {
    if (this.#state.value !== 'ready') return;
    this.#move({ type: 'link.lost' });
    this.#destroy(this.#client);
    this.#client = this.#newClient();
    this.#client.connect().catch((error: unknown) => {
      this.#lastError = error;
    });
  }

  #destroy(client: RedisClientLike): void {
    if (client.isOpen) client.destroy();
  }

  /** Without an error listener, a lost connection would end the process. */
  #addListeners(client: RedisClientLike): void {
    client.on('error', (error) => {
      this.#lastError = error;
    });
    // A client destroyed while connecting still completes the connection.
    client.on('connect', () => {
      if (this.#ownsClient && (client !== this.#client || this.isClosed)) client.destroy();
    });
  }

  #newClient(): RedisClientLike {
    const client = newRedisClient(this.#options as NewClientOptions);
    this.#addListeners(client);
    client.on('reconnecting', () => {
      if (client === this.#client) this.#move({ type: 'link.lost' });
    });
    client.on('ready', () => {
      if (client !== this.#client || this.isClosed) return;
      this.#move({ type: 'link.connected' });
      for (const { text } of this.#scripts) {
        // A script that fails to load is sent in full later.
        this.command(['SCRIPT', 'LOAD', text]).catch((error: unknown) => {
          this.#lastError = error;
        });
      }
    });
    return client;
  }

  #move(event: RedisLinkEvent): void {
    this.#state = redisLinkChart.next(this.#state, event);
  }

  #unavailable(fault: StoreFault, cause: unknown = this.#lastError): StoreUnavailable {
    const { commandTimeoutMs, maxCommands } = this.#options;
    const messages: { readonly [F in StoreFault]: string } = {
      away: 'Not connected to Redis',
      slow: `Redis did not answer within ${commandTimeoutMs} ms`,
      full: 'Redis cannot write: it is out of memory, or its disk or replicas fail',
      refused: `Redis rejected a command: ${textOfError(cause)}`,
      busy: `Too many pending Redis commands: the limit is ${maxCommands} commands or maxCommandBytes`,
      closed: 'The connection to Redis is closed',
    };
    const retryAfterMs = fault === 'full' || fault === 'refused' ? 10_000 : 1000;
    return new StoreUnavailable(fault, messages[fault], { retryAfterMs, cause });
  }
}

/**
 * A Lua script, executed atomically.
 *
 * A full Redis rejects a script at its first write if that needs memory, but continues it if an
 * earlier write needed none. So an update that must not be partial starts with the write that needs
 * memory, while renewals and deletions start with one that needs none, such as `PEXPIRE`.
 */
export interface Script {
  readonly text: string;
  readonly digest: string;
}

/** Scripts use the server's time, in milliseconds, because the clocks of nodes differ. */
const now = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** Creates a script that can call `now()`. */
export function luaScript(body: string): Script {
  const text = now + body;
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}
