import { setTimeout } from 'node:timers/promises';
import { StoreUnavailable } from '../http/nodes/stores.ts';
import type { NodeInbox, NodeInboxListener } from '../http/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection, Reply } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * Who reads an inbox is the one group of its stream, so one command reads what has come and notes that
 * it was read. `delivered` is the last place that was, and the group; false if there is no such inbox.
 */
const places = `
local function delivered(inbox)
  local groups = redis.pcall('XINFO', 'GROUPS', inbox)
  if groups.err or not groups[1] then return false end
  local group = {}
  for n = 1, #groups[1], 2 do group[groups[1][n]] = groups[1][n + 1] end
  return group['last-delivered-id'], group['name']
end
local function isAfter(one, other)
  local ms, n = string.match(one, '^(%d+)%-(%d+)$')
  local otherMs, otherN = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= otherMs then return tonumber(ms) > tonumber(otherMs) end
  return tonumber(n) > tonumber(otherN)
end
`;

/**
 * KEYS: inbox. ARGV: ttlMs, the place that has arrived last, a new group. What was read and has not
 * arrived. What still waits for an earlier group, on a connection that was lost perhaps, gets nothing.
 */
const resume = luaScript(`${places}
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local at, group = delivered(KEYS[1])
if group then redis.call('XGROUP', 'DESTROY', KEYS[1], group) end
local last = at and isAfter(at, ARGV[2]) and at or ARGV[2]
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[3], last, 'MKSTREAM')
redis.pcall('XSETID', KEYS[1], last)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('XRANGE', KEYS[1], '(' .. ARGV[2], last)
`);

/** KEYS: inbox. ARGV: text, the most bytes. Its place; 0: there is no inbox; -1: it is full. */
const sendIfRoom = luaScript(`
local bytes = redis.call('MEMORY', 'USAGE', KEYS[1])
if not bytes then return 0 end
if redis.call('XLEN', KEYS[1]) > 0 and bytes + #ARGV[1] > tonumber(ARGV[2]) then return -1 end
return redis.call('XADD', KEYS[1], '*', 'text', ARGV[1])
`);

/** KEYS: inbox, closed inbox. ARGV: ttlMs. For a while it can be told what was not read. */
const close = luaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
redis.call('XTRIM', KEYS[2], 'MAXLEN', 0)
`);

/** KEYS: inbox, closed inbox. ARGV: place, mark. 1: it will not be served, as who reads the place reads the mark too. */
const withdraw = luaScript(`${places}
local at = delivered(KEYS[1])
local last = at or delivered(KEYS[2])
if not last or not isAfter(ARGV[1], last) then return 0 end
if at then redis.call('XADD', KEYS[1], '*', 'mark', ARGV[2]) end
return 1
`);

/** Scripts to make known to a new connection. */
export const inboxScripts = [resume, sendIfRoom, close, withdraw];

/** How long one look into the inbox waits for something, milliseconds. */
const blockMs = 500;

/** How many looks are asked for ahead while something comes. Each waits for the one before. */
const looksAhead = 4;

/** How long all of them may wait, milliseconds. */
const looksMs = looksAhead * blockMs;

/** How soon it is tried again while Redis is away, milliseconds. */
const retryMs = 100;

/** How long a connection of a node that lives may be silent, milliseconds: it beats on one, and looks into its inbox on the other. */
export function silenceMs(leaseMs: number, commandTimeoutMs: number): number {
  return Math.max(leaseMs, looksMs) + 2 * commandTimeoutMs;
}

export interface RedisInboxOptions {
  readonly leaseMs: number;
  readonly commandTimeoutMs: number;
  /** The most that waits in one inbox, bytes. */
  readonly maxInboxBytes: number;
}

/** How much that was read stays in an inbox, bytes. */
const readBytes = 256 * 1024;

/** The inbox of this node. */
interface OwnInbox {
  readonly node: string;
  readonly listener: NodeInboxListener;
  /** Who reads it. */
  group: string;
  /** The place that was read last. */
  last: string;
  /** What was read and is still there, bytes. */
  bytes: number;
}

/** Inboxes in Redis: a stream for each node. */
export class RedisInbox implements NodeInbox {
  readonly #connection: RedisConnection;
  /** A connection of its own: one that waits for its inbox can do nothing else. */
  readonly #reader: RedisConnection;
  readonly #keys: Keys;
  readonly #options: RedisInboxOptions;
  /** What was sent to other nodes since it was looked whether there is room, bytes. */
  readonly #unchecked = new Map<string, number>();
  #own: OwnInbox | undefined = undefined;
  /** Settles once the inbox is read no longer. */
  #reading: Promise<void> | undefined = undefined;
  #groups = 0;

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
    const own = { node, listener, group: '', last: '0-0', bytes: 0 };
    await this.#resume(own);
    this.#own = own;
    this.#reading = this.#read(own);
  }

  async prolong(node: string): Promise<void> {
    const key = this.#keys.inbox(node);
    const isThere = await this.#connection.command(['PEXPIRE', key, this.#lease], key);
    // Redis may have lost it, while the node's lease lasts.
    if (isThere !== 1 && this.#own?.node === node) await this.#resume(this.#own);
  }

  async close(node: string): Promise<void> {
    const reading = this.#own?.node === node ? this.#reading : undefined;
    if (reading) this.#own = undefined;
    const keys = [this.#keys.inbox(node), this.#keys.closedInbox(node)];
    await this.#connection.run(close, keys, [String(2 * Number(this.#lease))]);
    // What was read before this will be served.
    await reading;
  }

  async send(node: string, text: string): Promise<string | undefined> {
    const key = this.#keys.inbox(node);
    const reply = await (text === ''
      ? this.#connection.command(['EXISTS', key], key)
      : this.#add(node, key, text));
    if (typeof reply === 'string') return reply;
    if (reply === 1) return '';
    this.#unchecked.delete(node);
    return undefined;
  }

  async withdraw(node: string, place: string, mark: string): Promise<boolean> {
    const keys = [this.#keys.inbox(node), this.#keys.closedInbox(node)];
    return (await this.#connection.run(withdraw, keys, [place, mark])) === 1;
  }

  async others(node: string): Promise<readonly string[]> {
    const key = this.#keys.nodes;
    const nodes = await this.#connection.command(['ZRANGE', key, '0', '-1'], key);
    return (nodes as readonly string[]).filter((other) => other !== node);
  }

  get #lease(): string {
    return String(Math.ceil(this.#options.leaseMs));
  }

  /** Whether there is room is seldom looked at. @returns the place; 0 or nothing if there is no inbox */
  async #add(node: string, key: string, text: string): Promise<Reply> {
    const { maxInboxBytes } = this.#options;
    const unchecked = (this.#unchecked.get(node) ?? 0) + Buffer.byteLength(text);
    this.#unchecked.set(node, unchecked);
    if (unchecked < maxInboxBytes / 64) {
      return this.#connection.command(['XADD', key, 'NOMKSTREAM', '*', 'text', text], key);
    }
    const place = await this.#connection.run(sendIfRoom, [key], [text, String(maxInboxBytes)]);
    if (place === -1) {
      const message = `The inbox of the node ${node} is full`;
      throw new StoreUnavailable('busy', message, { retryAfterMs: 1000 });
    }
    this.#unchecked.set(node, 0);
    return place;
  }

  async #resume(own: OwnInbox): Promise<Entries> {
    own.group = String(++this.#groups);
    const args = [this.#lease, own.last, own.group];
    return (await this.#connection.run(resume, [this.#keys.inbox(own.node)], args)) as Entries;
  }

  async #read(own: OwnInbox): Promise<void> {
    while (this.#own === own && !this.#reader.isClosed) {
      try {
        this.#take(own, await this.#resume(own));
        await this.#readOn(own);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await setTimeout(retryMs, undefined, { ref: false });
      }
    }
  }

  /** Settles once another inbox was opened, or this one was closed. */
  async #readOn(own: OwnInbox): Promise<void> {
    const looks: Promise<Entries>[] = [];
    let entries: Entries | undefined = undefined;
    do {
      const ahead = entries === undefined || entries.length === 0 ? 1 : looksAhead;
      if (looks.length < ahead / 2) while (looks.length < ahead) looks.push(this.#look(own));
      entries = await looks.shift()!;
    } while (this.#take(own, entries));
  }

  #look({ node, group }: OwnInbox): Promise<Entries> {
    const key = this.#keys.inbox(node);
    const who = ['GROUP', group, 'node', 'NOACK', 'BLOCK', String(blockMs)];
    const args = ['XREADGROUP', ...who, 'STREAMS', key, '>'];
    const looked = this.#reader
      .command(args, key, looksMs + this.#options.commandTimeoutMs)
      .then((reply) => entriesOf(reply as XReadReply));
    // One that fails fails those after it.
    looked.catch(() => undefined);
    return looked;
  }

  /** @returns whether more is to be read */
  #take(own: OwnInbox, entries: Entries): boolean {
    const valuesOf = (kind: string) =>
      entries.flatMap(([, [name, value = '']]) => (name === kind ? [value] : []));
    const texts = valuesOf('text');
    own.last = entries.at(-1)?.[0] ?? own.last;
    own.bytes += texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    const most = entries.length === 0 ? 0 : Math.min(readBytes, this.#options.maxInboxBytes / 4);
    if (own.bytes > most) this.#remove(own);
    // If another one was opened instead, nobody serves it.
    const isServed = this.#own === own || this.#own === undefined;
    if (isServed && texts.length > 0) own.listener.received(texts, new Set(valuesOf('mark')));
    return this.#own === own || entries.length > 0;
  }

  /** Makes room. */
  #remove(own: OwnInbox): void {
    const { bytes, last } = own;
    const key = this.#keys.inbox(own.node);
    const [ms, n] = last.split('-');
    own.bytes = 0;
    this.#connection.command(['XTRIM', key, 'MINID', `${ms}-${Number(n) + 1}`], key).catch(() => {
      own.bytes += bytes;
    });
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
