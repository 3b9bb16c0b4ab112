import { ErrorReply, createClient } from 'redis';
import type { RedisClientOptions } from 'redis';
import { StoreUnavailable } from '../http/nodes/store-unavailable.ts';
import type { StoreFault } from '../http/nodes/store-unavailable.ts';
import { textOfError } from '../protocol/errors.ts';
import type { Script } from './script.ts';

/** What Redis answers, in RESP 2. */
export type Reply = string | number | null | readonly Reply[];

export interface ConnectionOptions {
  /** `redis[s]://[[user][:password]@]host[:port][/database]`. */
  readonly url: string;
  /** Of the `redis` client, such as `socket: { tls: true, ca }`. */
  readonly client?: Pick<RedisClientOptions, 'username' | 'password' | 'database' | 'socket'>;
  /** How long a command may take, milliseconds. */
  readonly commandTimeoutMs: number;
  /** Commands that wait for an answer at once. */
  readonly maxCommands: number;
  /** What they may come to, bytes. */
  readonly maxCommandBytes: number;
  /** Silence after which the connection is given up and made anew, milliseconds. */
  readonly silenceMs: number;
}

const clientOf = ({ url, client, silenceMs, commandTimeoutMs }: ConnectionOptions) =>
  createClient({
    ...client,
    url,
    RESP: 2,
    // Better no answer at once than a late one: nobody waits for it any more.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: commandTimeoutMs,
      socketTimeout: silenceMs,
      // Nodes that lost their store together come back one after the other.
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 2000) * (0.5 + Math.random()),
      ...client?.socket,
    } as RedisClientOptions['socket'] & object,
  });

/** By the first word of an error. All others are `refused`: there is no right to it, or it is no Redis. */
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

interface Waiting {
  readonly untilMs: number;
  overdue(): void;
}

type ConnectionState = 'connecting' | 'ready' | 'stalled' | 'closed';

/**
 * A connection to Redis that never lets anybody wait: every command settles within
 * `commandTimeoutMs`, with an answer or with `StoreUnavailable`. After one that was late, all others
 * are refused at once until Redis answers again.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #scripts: readonly Script[];
  #client: ReturnType<typeof clientOf>;
  #state: ConnectionState = 'connecting';
  /** The oldest comes first: all have the same time. */
  readonly #waiting = new Set<Waiting>();
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastError: unknown;

  /** @param scripts what each new connection makes known to Redis */
  constructor(options: ConnectionOptions, scripts: readonly Script[] = []) {
    this.#options = options;
    this.#scripts = scripts;
    this.#client = this.#newClient();
  }

  /**
   * Makes the first connection; it may take as long as five commands.
   * @throws {StoreUnavailable} an address or a password is wrong, or nobody is there
   */
  async open(): Promise<void> {
    const client = this.#client;
    const patienceMs = 5 * this.#options.commandTimeoutMs;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(this.#unavailable('slow')), patienceMs);
        client.once('ready', () => resolve());
        client.once('error', () => reject(this.#unavailable('away')));
        client.connect().catch(() => reject(this.#unavailable('away')));
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Never waits for Redis. */
  close(): void {
    if (this.isClosed) return;
    this.#state = 'closed';
    this.#end(this.#client);
    for (const { overdue } of [...this.#waiting]) overdue();
    clearTimeout(this.#timer);
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** A script's answer. It is sent by its digest, which every new connection makes known first. */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.command(['EVALSHA', script.digest, ...rest]);
    } catch (error) {
      // Somebody has flushed the scripts.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.command(['EVAL', script.text, ...rest]);
    }
  }

  /** @param timeoutMs for a command that blocks */
  command(args: string[], timeoutMs = this.#options.commandTimeoutMs): Promise<Reply> {
    const bytes = args.reduce((sum, { length }) => sum + length, 0);
    const { maxCommands, maxCommandBytes } = this.#options;
    if (this.#state === 'closed') return Promise.reject(this.#unavailable('closed'));
    if (this.#state === 'stalled') return Promise.reject(this.#unavailable('slow'));
    if (this.#state === 'connecting') return Promise.reject(this.#unavailable('away'));
    const isBusy =
      this.#waiting.size >= maxCommands || this.#waitingBytes + bytes > maxCommandBytes;
    if (isBusy && this.#waiting.size > 0) return Promise.reject(this.#unavailable('busy'));
    return this.#send(args, bytes, timeoutMs);
  }

  #send(args: string[], bytes: number, timeoutMs: number): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      const waiting: Waiting = {
        untilMs: performance.now() + timeoutMs,
        overdue: () => {
          settle();
          reject(this.#unavailable(this.#state === 'closed' ? 'closed' : 'slow'));
        },
      };
      const settle = (): void => {
        if (this.#waiting.delete(waiting)) this.#waitingBytes -= bytes;
      };
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
      this.#timer ??= this.#timeAgain(timeoutMs);
      this.#client.sendCommand<Reply>(args).then(
        (reply) => {
          settle();
          this.#answered();
          resolve(reply);
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
      if (this.#state === 'ready') this.#state = 'stalled';
      overdue();
    }
    const [next] = this.#waiting;
    if (next) this.#timer = this.#timeAgain(Math.max(1, next.untilMs - nowMs));
  }

  /** Late answers are answers too. */
  #answered(): void {
    if (this.#state === 'stalled') this.#state = 'ready';
  }

  #errorFor(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    if (!(failure instanceof ErrorReply)) {
      return this.#unavailable(this.isClosed ? 'closed' : 'away', failure);
    }
    this.#answered();
    const word = /^[A-Z]+/.exec(failure.message)?.[0] ?? '';
    if (word === 'NOSCRIPT') return failure;
    // It was the primary and is no longer: the address may lead to the new one.
    if (word === 'READONLY') this.#reconnect();
    return this.#unavailable(faults[word] ?? 'refused', failure);
  }

  #reconnect(): void {
    if (this.#state !== 'ready') return;
    this.#state = 'connecting';
    this.#end(this.#client);
    this.#client = this.#newClient();
    this.#client.connect().catch((error: unknown) => {
      this.#lastError = error;
    });
  }

  #end(client: ReturnType<typeof clientOf>): void {
    if (client.isOpen) client.destroy();
  }

  #newClient(): ReturnType<typeof clientOf> {
    const client = clientOf(this.#options);
    client.on('error', (error) => {
      this.#lastError = error;
      this.#disconnected(client);
    });
    client.on('reconnecting', () => this.#disconnected(client));
    client.on('ready', () => {
      if (client !== this.#client || this.isClosed) return;
      this.#state = 'ready';
      for (const { text } of this.#scripts) {
        // A script that cannot be loaded now is sent whole later.
        this.command(['SCRIPT', 'LOAD', text]).catch((error: unknown) => {
          this.#lastError = error;
        });
      }
    });
    return client;
  }

  #disconnected(client: ReturnType<typeof clientOf>): void {
    if (client === this.#client && !this.isClosed) this.#state = 'connecting';
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
