import { setTimeout } from 'node:timers/promises';
import { StoreUnavailable } from '../http/nodes/stores.ts';
import type { NodeInbox, NodeInboxListener } from '../http/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/** KEYS: inbox, state. ARGV: text, the most bytes, ttlMs. Its place; 0: there is no inbox; -1: it is full. */
const send = luaScript(`
if redis.call('HGET', KEYS[2], 'open') ~= '1' then return 0 end
if ARGV[1] == '' then return 1 end
local bytes = tonumber(redis.call('HGET', KEYS[2], 'bytes') or '0')
if bytes > 0 and bytes + #ARGV[1] > tonumber(ARGV[2]) then return -1 end
local place = redis.call('XADD', KEYS[1], '*', 't', ARGV[1])
redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return place
`);

/**
 * Takes what was read out of an inbox: from now on it cannot be withdrawn. KEYS: inbox, state. ARGV:
 * the place that was read last, its bytes. What has been withdrawn. It does no harm twice.
 */
const take = luaScript(`
local function parts(place)
  local ms, n = string.match(place, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(n)
end
-- Redis has lost the inbox: its node opens it again.
if redis.call('EXISTS', KEYS[2]) == 0 then return {} end
local ms, n = parts(redis.call('HGET', KEYS[2], 'read') or '0-0')
local toMs, toN = parts(ARGV[1])
if toMs > ms or toMs == ms and toN > n then
  redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f-%.0f', toMs, toN + 1))
  redis.call('HSET', KEYS[2], 'read', ARGV[1])
  redis.call('HINCRBY', KEYS[2], 'bytes', -ARGV[2])
end
local marks = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
  local mark = string.match(field, '^not:(.*)$')
  if mark then table.insert(marks, mark) end
end
return marks
`);

/** KEYS: state. ARGV: place, mark. 1: it will not be served. */
const withdraw = luaScript(`
local function parts(place)
  local ms, n = string.match(place, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local ms, n = parts(redis.call('HGET', KEYS[1], 'read') or '0-0')
local atMs, atN = parts(ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 or atMs < ms or atMs == ms and atN <= n then return 0 end
redis.call('HSET', KEYS[1], 'not:' .. ARGV[2], '1')
return 1
`);

/** Scripts to make known to a new connection. */
export const inboxScripts = [send, take, withdraw];

/** How long one look into the inbox waits for something, milliseconds. */
const blockMs = 2000;

/** How soon it is tried again while Redis is away, milliseconds. */
const retryMs = 100;

/** How long a connection of a node that lives may be silent, milliseconds: it beats on one, and looks into its inbox on the other. */
export function silenceMs(leaseMs: number, commandTimeoutMs: number): number {
  return Math.max(leaseMs, blockMs) + 2 * commandTimeoutMs;
}

export interface RedisInboxOptions {
  readonly leaseMs: number;
  readonly commandTimeoutMs: number;
  /** The most that waits in one inbox, bytes. */
  readonly maxInboxBytes: number;
}

/** Inboxes in Redis: a stream for each node. */
export class RedisInbox implements NodeInbox {
  readonly #connection: RedisConnection;
  /** A connection of its own: one that waits for its inbox can do nothing else. */
  readonly #reader: RedisConnection;
  readonly #keys: Keys;
  readonly #options: RedisInboxOptions;
  /** The inbox that is open. */
  #node = '';
  /** What was read is being taken out, and will be served. */
  #taking: Promise<void> | undefined = undefined;

  constructor(
    connection: RedisConnection,
    reader: RedisConnection,
    keys: Keys,
    options: RedisInboxOptions,
  ) {
    this.#connection = connection;
    this.#reader = reader;
    this.#keys = keys;
    this.#options = options;
  }

  async open(node: string, listener: NodeInboxListener): Promise<void> {
    const key = this.#keys.inboxState(node);
    await this.#connection.command(['HSET', key, 'open', '1'], key);
    await this.prolong(node);
    this.#node = node;
    void this.#read(node, listener);
  }

  async prolong(node: string): Promise<void> {
    const key = this.#keys.inboxState(node);
    const isThere = await this.#connection.command(['PEXPIRE', key, this.#lease], key);
    if (isThere === 1) return;
    // Redis has lost it, while the node's lease lasts.
    await this.#connection.command(['HSET', key, 'open', '1'], key);
    await this.#connection.command(['PEXPIRE', key, this.#lease], key);
  }

  async close(node: string): Promise<void> {
    if (node === this.#node) this.#node = '';
    await this.#taking?.catch(() => undefined);
    // Its state tells for a while what was read, and what was not.
    const [state, box] = [this.#keys.inboxState(node), this.#keys.inbox(node)];
    await this.#connection.command(['HDEL', state, 'open'], state);
    await this.#connection.command(['DEL', box], box);
  }

  async send(node: string, text: string): Promise<string | undefined> {
    const keys = [this.#keys.inbox(node), this.#keys.inboxState(node)];
    const { maxInboxBytes } = this.#options;
    const reply = await this.#connection.run(send, keys, [text, String(maxInboxBytes), this.#ttl]);
    if (reply === 0) return undefined;
    if (typeof reply === 'string') return reply;
    if (reply === 1) return '';
    throw new StoreUnavailable('busy', `The inbox of the node ${node} is full`, {
      retryAfterMs: 1000,
    });
  }

  async withdraw(node: string, place: string, mark: string): Promise<boolean> {
    const keys = [this.#keys.inboxState(node)];
    return (await this.#connection.run(withdraw, keys, [place, mark])) === 1;
  }

  async broadcast(from: string, text: string): Promise<void> {
    const key = this.#keys.nodes;
    const nodes = await this.#connection.command(['ZRANGE', key, '0', '-1'], key);
    const others = (nodes as readonly string[]).filter((node) => node !== from);
    await Promise.all(others.map((node) => this.send(node, text)));
  }

  get #lease(): string {
    return String(Math.ceil(this.#options.leaseMs));
  }

  /** What nobody takes out is gone a while after its node. */
  get #ttl(): string {
    return String(Math.ceil(2 * this.#options.leaseMs));
  }

  async #read(node: string, listener: NodeInboxListener): Promise<void> {
    let after = '0-0';
    while (this.#node === node && !this.#reader.isClosed) {
      try {
        after = await this.#readOnce(node, after, listener);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await setTimeout(retryMs, undefined, { ref: false });
      }
    }
  }

  /** @returns the place up to which it has been read */
  async #readOnce(node: string, after: string, listener: NodeInboxListener): Promise<string> {
    const key = this.#keys.inbox(node);
    const reply = (await this.#reader.command(
      ['XREAD', 'COUNT', '200', 'BLOCK', String(blockMs), 'STREAMS', key, after],
      key,
      blockMs + this.#options.commandTimeoutMs,
    )) as XReadReply;
    const entries = entriesOf(reply);
    const last = entries.at(-1)?.[0];
    if (last === undefined || this.#node !== node) return after;
    const texts = entries.map(([, [, text = '']]) => text);
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    this.#taking = this.#take(node, last, bytes).then((marks) =>
      listener.received(texts, new Set(marks)),
    );
    await this.#taking;
    return last;
  }

  /** If the answer is lost, they may be out of the inbox, and this node alone has them: so it asks until it knows. */
  async #take(node: string, last: string, bytes: number): Promise<readonly string[]> {
    const keys = [this.#keys.inbox(node), this.#keys.inboxState(node)];
    for (;;) {
      try {
        const marks = await this.#connection.run(take, keys, [last, String(bytes)]);
        return marks as readonly string[];
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#node !== node) throw error;
        await setTimeout(retryMs, undefined, { ref: false });
      }
    }
  }
}

type Entries = readonly (readonly [string, readonly string[]])[];
/** In RESP 2 a list, in RESP 3 a map. */
type XReadReply = null | readonly [readonly [string, Entries]] | Readonly<Record<string, Entries>>;

function entriesOf(reply: XReadReply | ReadonlyMap<string, Entries>): Entries {
  if (reply === null) return [];
  if (Array.isArray(reply)) return (reply as readonly [readonly [string, Entries]])[0][1];
  const [entries = []] = reply instanceof Map ? reply.values() : Object.values(reply);
  return entries as Entries;
}
