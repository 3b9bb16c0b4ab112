import { refuseDuration } from '../actors/clock.ts';
import { newNodeName } from '../http/nodes/names.ts';
import { storeLimits } from '../http/nodes/stores.ts';
import type { StoreLimits, Stores } from '../http/nodes/stores.ts';
import { RedisConnection } from './connection.ts';
import type { RedisConnectionOptions } from './connection.ts';
import { Keys } from './keys.ts';
import { NodePost, postScripts, silenceMs } from './node-post.ts';
import type { PostListener, NodePostOptions } from './node-post.ts';
import { RedisEvents, eventScripts } from './redis-events.ts';
import { RedisMailbox, mailboxScripts } from './redis-mailbox.ts';
import { RedisSessions, sessionScripts } from './redis-sessions.ts';

/** Which Redis the nodes share, and how it is reached. */
export interface RedisStoresOptions
  extends
    Pick<RedisConnectionOptions, 'url' | 'client'>,
    Partial<Omit<RedisConnectionOptions & NodePostOptions, 'url' | 'client' | 'silenceMs'>> {
  /** Before every key; nodes with the same one share. Default `mcp:`. */
  readonly prefix?: string;
  /** Bounds and times; what is left out has its default. */
  readonly limits?: Partial<StoreLimits>;
}

/** The defaults of how Redis is spoken to. */
const defaultRedisOptions = {
  prefix: 'mcp:',
  commandTimeoutMs: 1000,
  maxCommands: 10_000,
  maxCommandBytes: 64 * 1024 * 1024,
  leaseMs: 10_000,
  letterTimeoutMs: 5000,
  maxEnvelopes: 10_000,
} as const;

const times = ['commandTimeoutMs', 'leaseMs', 'letterTimeoutMs'] as const;

/**
 * The stores of a node that shares its sessions with others by way of Redis: version 6.2 or newer,
 * which must not evict keys (`maxmemory-policy noeviction`).
 *
 * What it has told is as durable as Redis makes it. If Redis has lost its data, the nodes that live
 * put their sessions back; what waited and the event logs are lost, and readers are told so.
 *
 * @throws {StoreUnavailable} Redis cannot be reached
 * @throws {RangeError} an option that cannot be
 */
export async function redisStores(options: RedisStoresOptions): Promise<Stores> {
  const node = new RedisNode(options);
  await node.open();
  return node;
}

/** One node's stores in Redis. */
export class RedisNode implements Stores, PostListener {
  readonly node = newNodeName();
  readonly sessions: RedisSessions;
  readonly events: RedisEvents;
  readonly mailbox: RedisMailbox;
  readonly #connection: RedisConnection;
  readonly #post: NodePost;

  constructor(given: RedisStoresOptions) {
    const chosen = { ...defaultRedisOptions, ...given };
    for (const name of times) refuseDuration(name, chosen[name]);
    const options = { ...chosen, silenceMs: silenceMs(chosen.leaseMs, chosen.commandTimeoutMs) };
    const limits = storeLimits(given.limits);
    const keys = new Keys(options.prefix);
    const scripts = [...sessionScripts, ...eventScripts, ...mailboxScripts, ...postScripts];
    this.#connection = new RedisConnection(options, scripts);
    this.#post = new NodePost(this.node, this.#connection, keys, options, this);
    this.sessions = new RedisSessions(this.#connection, keys, limits);
    this.events = new RedisEvents(this.#connection, keys, limits, this.#post);
    this.mailbox = new RedisMailbox(this.#connection, keys, limits, this.#post);
  }

  async open(): Promise<void> {
    try {
      await this.#connection.open();
      await this.sessions.open();
      await this.#post.open();
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.events.close();
    await this.#post.close();
    this.#connection.close();
  }

  /** Leaves without a word. */
  kill(): void {
    this.events.close();
    this.#post.stop();
    this.#connection.close();
  }

  letter(letter: Parameters<PostListener['letter']>[0]): void {
    this.mailbox.letter(letter);
  }

  notice(notice: Parameters<PostListener['notice']>[0]): void {
    this.mailbox.notice(notice);
  }

  appended(session: string, stream: string): void {
    this.events.appended(session, stream);
  }

  beat(): void {
    this.events.lookAgain();
  }

  lapsed(): Promise<void> {
    return this.mailbox.lapsed();
  }
}
