import { ConnectionTimeoutError, ErrorReply, createClient } from 'redis';
import type { RedisClientOptions } from 'redis';
import { StoreUnavailable } from '../../http/src/nodes/stores.ts';
import type { StoreFault } from '../../http/src/nodes/stores.ts';
import { redisLinkChart } from './redis-link.machine.ts';
import type { RedisLinkEvent } from './redis-link.machine.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import { createHash } from 'node:crypto';

/** What Redis answers, in RESP 2. */
export type Reply = string | number | null | readonly Reply[];

/** What is used of a client of the package `redis`, made by `createClient`, `createCluster` or `createSentinel`. */
export interface RedisClientLike {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  duplicate(): RedisClientLike;
  destroy(): unknown;
  on(event: 'error' | 'connect', listener: (error?: unknown) => void): unknown;
  // Each of the three has parameters of its own.
  sendCommand(...args: never[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  /** Of a client made by `createClient`. */
  readonly options?: unknown;
}

type ClientSettings = Pick<RedisClientOptions, 'username' | 'password' | 'database' | 'socket'>;

export interface RedisConnectionOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]`; not beside a ready client. */
  readonly url?: string;
  /** A ready client, or settings of the one that is made, such as `socket: { tls: true, ca }`. */
  readonly client?: RedisClientLike | ClientSettings;
  /** How long a command may take, milliseconds. */
  readonly commandTimeoutMs: number;
  /** Commands that wait for an answer at once. */
  readonly maxCommands: number;
  /** What they may come to, bytes. */
  readonly maxCommandBytes: number;
  /** Silence after which the connection is given up and made anew, milliseconds. */
  readonly silenceMs: number;
  /** How long it waits at the most until it connects again, milliseconds. */
  readonly reconnectMs: number;
  /** Pings Redis: a subscriber sends nothing else, and its silence would be taken for its end. */
  readonly isSubscriber?: boolean;
}

function isReady(client: RedisConnectionOptions['client']): client is RedisClientLike {
  return client !== undefined && 'sendCommand' in client;
}

const isCluster = (client: RedisClientLike): boolean => 'nodeByAddress' in client;

/** Sends a command as this kind of client takes it. */
function sendBy(
  client: RedisClientLike,
  key: string | undefined,
  args: string[],
): Promise<unknown> {
  const send = client.sendCommand.bind(client) as (...all: unknown[]) => Promise<unknown>;
  if (isCluster(client)) return send(key, false, args);
  return 'getSentinelNode' in client ? send(false, args) : send(args);
}

const clientOf = (options: MadeClientOptions) => {
  const { url, client, silenceMs, reconnectMs, commandTimeoutMs } = options;
  return createClient({
    ...client,
    ...(url === undefined ? {} : { url }),
    RESP: 2,
    // The time of each command is limited here.
    commandOptions: { timeout: 0 },
    ...(options.isSubscriber ? { pingInterval: silenceMs / 3 } : {}),
    // A command fails at once: its caller does not wait for a connection.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: commandTimeoutMs,
      socketTimeout: silenceMs,
      // Nodes that lost their store together come back one after the other.
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** retries, reconnectMs) * (0.5 + Math.random() / 2),
      ...client?.socket,
    } as RedisClientOptions['socket'] & object,
  });
};

type MadeClientOptions = Omit<RedisConnectionOptions, 'client'> & {
  readonly client?: ClientSettings;
};

/** By the first word of an error. All others are `refused`: the command is not permitted, or the server is not Redis. */
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

/** Why no command is sent in the states in which none is. */
const faultIn = { connecting: 'away', stalled: 'slow', closed: 'closed' } as const;

interface Waiting {
  readonly untilMs: number;
  overdue(): void;
}

/**
 * A connection to Redis that lets nothing wait for long: every command settles within
 * `commandTimeoutMs`, with an answer or with `StoreUnavailable`. After one that was late, all others
 * are refused at once until Redis answers again.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #scripts: readonly Script[];
  /** Whose end is not ours, and which reconnects by itself. */
  readonly #given: RedisClientLike | undefined;
  #client: RedisClientLike;
  /** What was given is its giver's to close, but for what was made of it. */
  #isOurs: boolean;
  #state = redisLinkChart.begun;
  /** The oldest comes first: all have the same time. */
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastError: unknown;

  /** @param scripts what each new connection makes known to Redis */
  constructor(options: RedisConnectionOptions, scripts: readonly Script[] = []) {
    this.#options = options;
    this.#scripts = scripts;
    const { client } = options;
    this.#given = isReady(client) ? client : undefined;
    this.#isOurs = !this.#given;
    this.#client = this.#given ?? this.#newClient();
    if (this.#given) this.#guard(this.#given);
  }

  /** Another one to the same Redis, for a subscription. */
  another(): RedisConnection {
    const client = this.#given?.duplicate();
    const options = { ...this.#options, isSubscriber: true, ...(client && { client }) };
    const another = new RedisConnection(options);
    another.#isOurs = true;
    return another;
  }

  /**
   * Makes the first connection; it may take as long as five commands.
   * @throws {StoreUnavailable} an address or a password is wrong, or Redis does not answer
   */
  async open(): Promise<void> {
    const client = this.#client;
    const patienceMs = 5 * this.#options.commandTimeoutMs;
    const made = this.#given ? undefined : (client as ReturnType<typeof clientOf>);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(this.#unavailable('slow')), patienceMs);
        made?.once('ready', () => resolve());
        made?.on('error', (error) => {
          // It is tried again: a process that starts may be too busy to see that it is connected.
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

  /** Never waits for Redis. */
  close(): void {
    this.#move({ type: 'link.close' });
    if (this.#isOurs) this.#end(this.#client);
    for (const { overdue } of [...this.#waiting]) overdue();
    clearTimeout(this.#timer);
  }

  /** True if keys may be on several masters, and a script may use those of one slot alone. */
  get isCluster(): boolean {
    return isCluster(this.#client);
  }

  get isClosed(): boolean {
    return this.#state.status === 'done';
  }

  /** A script's answer. It is sent by its digest, which every new connection makes known first. */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.command(['EVALSHA', script.digest, ...rest], keys[0]);
    } catch (error) {
      // Somebody has flushed the scripts.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.command(['EVAL', script.text, ...rest], keys[0]);
    }
  }

  /** Subscribes to a channel, also after the connection was lost. @throws {StoreUnavailable} */
  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    try {
      await this.#client.subscribe(channel, listener);
    } catch (error) {
      throw this.#errorFor(error);
    }
  }

  /** The host and the port of the Redis that it was told to connect to; undefined if it was told otherwise. */
  get target(): { readonly host: string; readonly port: number } | undefined {
    const { socket } = (this.#client.options ?? {}) as {
      readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
    };
    if (!('options' in this.#client) || socket?.path !== undefined) return undefined;
    return { host: socket?.host ?? 'localhost', port: socket?.port ?? 6379 };
  }

  /** @param key where it is sent to, in a cluster */
  command(args: string[], key?: string): Promise<Reply> {
    const bytes = args.reduce((sum, { length }) => sum + length, 0);
    const { maxCommands, maxCommandBytes } = this.#options;
    const { value } = this.#state;
    if (value !== 'ready') return Promise.reject(this.#unavailable(faultIn[value]));
    const isBusy =
      this.#waiting.size >= maxCommands || this.#waitingBytes + bytes > maxCommandBytes;
    if (isBusy && this.#waiting.size > 0) return Promise.reject(this.#unavailable('busy'));
    return this.#send(args, key, bytes);
  }

  #send(args: string[], key: string | undefined, bytes: number): Promise<Reply> {
    const timeoutMs = this.#options.commandTimeoutMs;
    return new Promise<Reply>((resolve, reject) => {
      const waiting: Waiting = {
        untilMs: performance.now() + timeoutMs,
        overdue: () => {
          settle();
          reject(this.#unavailable(this.isClosed ? 'closed' : 'slow'));
        },
      };
      const settle = (): void => {
        if (this.#waiting.delete(waiting)) this.#waitingBytes -= bytes;
      };
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
      this.#timer ??= this.#timeAgain(timeoutMs);
      sendBy(this.#client, key, args).then(
        (reply) => {
          settle();
          this.#move({ type: 'answer.received' });
          resolve(reply as Reply);
        },
        (error: unknown) => {
          settle();
          reject(this.#errorFor(error));
        },
      );
    });
  }

  /** What has come while this process was busy is read first: it was not Redis that was slow. */
  #timeAgain(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#refuseOverdue()), afterMs);
  }

  #refuseOverdue(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const { untilMs, overdue } of this.#waiting) {
      if (untilMs > nowMs) break;
      // A client that was given may never say that it is connected again: the next command finds out.
      if (!this.#given) this.#move({ type: 'answer.overdue' });
      overdue();
    }
    const [next] = this.#waiting;
    if (next) this.#timer = this.#timeAgain(Math.max(1, next.untilMs - nowMs));
  }

  #errorFor(error: unknown): Error {
    if (!(error instanceof ErrorReply)) {
      return this.#unavailable(this.isClosed ? 'closed' : 'away', error);
    }
    this.#move({ type: 'answer.received' });
    const word = /^[A-Z]+/.exec(error.message)?.[0] ?? '';
    if (word === 'NOSCRIPT') return error;
    // It was the primary and is no longer: the address may lead to the new one.
    if (word === 'READONLY' && !this.#given) this.#reconnect();
    return this.#unavailable(faults[word] ?? 'refused', error);
  }

  #reconnect(): void {
    if (this.#state.value !== 'ready') return;
    this.#move({ type: 'link.lost' });
    this.#end(this.#client);
    this.#client = this.#newClient();
    this.#client.connect().catch((error: unknown) => {
      this.#lastError = error;
    });
  }

  #end(client: RedisClientLike): void {
    if (client.isOpen) client.destroy();
  }

  /** Without a listener, the loss of a connection ends the process. */
  #guard(client: RedisClientLike): void {
    client.on('error', (error) => {
      this.#lastError = error;
    });
    // One that was destroyed while it connected does not know it.
    client.on('connect', () => {
      if (this.#isOurs && (client !== this.#client || this.isClosed)) client.destroy();
    });
  }

  #newClient(): RedisClientLike {
    const client = clientOf(this.#options as MadeClientOptions);
    this.#guard(client);
    client.on('reconnecting', () => {
      if (client === this.#client) this.#move({ type: 'link.lost' });
    });
    client.on('ready', () => {
      if (client !== this.#client || this.isClosed) return;
      this.#move({ type: 'link.connected' });
      for (const { text } of this.#scripts) {
        // A script that cannot be loaded now is sent whole later.
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
      away: 'There is no connection to Redis',
      slow: `Redis has not answered in time; a command may take ${commandTimeoutMs} ms`,
      full: 'Redis cannot write: it has no room, or its disk or replicas fail',
      refused: `Redis refuses a command: ${textOfError(cause)}`,
      busy: `${maxCommands} commands or more bytes than allowed wait for Redis`,
      closed: 'The connection to Redis has been closed',
    };
    const retryAfterMs = fault === 'full' || fault === 'refused' ? 10_000 : 1000;
    return new StoreUnavailable(fault, messages[fault], { retryAfterMs, cause });
  }
}

/**
 * A Lua script: what has to be done in one go.
 *
 * If Redis has no room, it refuses a script at its first write if that needs room, and lets it go on
 * if an earlier write needed none. So what must not be done halfway begins with the write that needs
 * room, and signs of life and removals begin with one that needs none, such as `PEXPIRE`.
 */
export interface Script {
  readonly text: string;
  readonly digest: string;
}

/** Time in Lua is the server's, in milliseconds: the clocks of nodes differ. */
const now = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** A script that may ask for the time with `now()`. */
export function luaScript(body: string): Script {
  const text = now + body;
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}
