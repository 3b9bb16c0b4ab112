import { StoreUnavailable } from '../http/nodes/stores.ts';
import type { Directory, Found, LeaseReply, SessionRecord, Written } from '../http/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection, Reply } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * Which data this Redis has: its process, or what a cluster counts its failovers with. A user without
 * the right to ask has one name for all.
 */
const storeName = `
local function storeName()
  local cluster = redis.pcall('CLUSTER', 'INFO')
  local epoch = type(cluster) == 'string' and string.match(cluster, 'cluster_current_epoch:(%d+)')
  if epoch then return 'epoch ' .. epoch end
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or 'unknown'
end
`;

/**
 * KEYS: store, lease, nodes. ARGV: node, leaseMs, 'new', 'prolong' or until when it may be taken
 * again, how long the store is remembered. Whether the lease is held; its end; name and age of the store.
 * If there was nothing at all, the store is as old as its process: nobody had anything in it.
 */
const lease = luaScript(`${storeName}
local at = now()
local name = storeName()
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local known = redis.call('HGET', KEYS[1], 'name')
if known ~= name then
  local since = at
  if not known then
    local info = redis.pcall('INFO', 'server')
    local up = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(%d+)')
    if up then since = at - up * 1000 end
  end
  redis.call('HSET', KEYS[1], 'name', name, 'since', string.format('%.0f', since))
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
local held = redis.call('PEXPIRE', KEYS[2], ARGV[2])
local revive = tonumber(ARGV[3])
if ARGV[3] == 'new' or revive and at < revive then
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  held = 1
end
if held == 1 then redis.call('ZADD', KEYS[3], at, ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', at - ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return {held, string.format('%.0f', at + ARGV[2]), name, redis.call('HGET', KEYS[1], 'since'), string.format('%.0f', at)}
`);

/** KEYS: store, lease. Whether the lease lasts; name and age of the store. */
const look = luaScript(`${storeName}
local name = storeName()
local known = redis.call('HMGET', KEYS[1], 'name', 'since')
local at = string.format('%.0f', now())
local since = known[1] == name and known[2] or at
return {redis.call('EXISTS', KEYS[2]), '', name, since, at}
`);

/** KEYS: record. The name of the store, as the master has it that has this key. */
const nameAt = luaScript(`${storeName}
return storeName()
`);

/** KEYS: record. ARGV: node, the fence that was read, the store that it was read from, ttlMs. The record. */
const claim = luaScript(`${storeName}
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence ~= ARGV[2] or storeName() ~= ARGV[3] then return false end
local higher = string.format('%.0f', math.max(fence + 1, now()))
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', higher)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return redis.call('HGETALL', KEYS[1])
`);

/** KEYS: record. ARGV: fence, revision, untilMs, ttlMs, then fields and values. */
const put = luaScript(`
if now() >= tonumber(ARGV[3]) then return 0 end
local there = redis.call('HMGET', KEYS[1], 'fence', 'revision')
if there[1] and tonumber(there[1]) > tonumber(ARGV[1]) then return 0 end
if there[1] == ARGV[1] and tonumber(there[2]) > tonumber(ARGV[2]) then return 1 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'revision', ARGV[2])
local kept = {fence = true, revision = true}
for n = 5, #ARGV, 2 do kept[ARGV[n]] = true end
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not kept[field] then redis.call('HDEL', KEYS[1], field) end
end
for n = 5, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[n], ARGV[n + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`);

/** KEYS: record. ARGV: fence, revision, ttlMs, then perhaps a field and its value. 0: fenced; 1: written; 2: behind. */
const write = luaScript(`
local there = redis.call('HMGET', KEYS[1], 'fence', 'revision')
if not there[1] then return 2 end
if there[1] ~= ARGV[1] then return tonumber(there[1]) > tonumber(ARGV[1]) and 0 or 2 end
local revision = tonumber(there[2])
local wanted = tonumber(ARGV[2])
if revision < wanted - (ARGV[4] and 1 or 0) then return 2 end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if not ARGV[4] or revision >= wanted then return 1 end
if ARGV[5] then redis.call('HSET', KEYS[1], 'revision', ARGV[2], ARGV[4], ARGV[5])
else
  redis.call('HDEL', KEYS[1], ARGV[4])
  redis.call('HSET', KEYS[1], 'revision', ARGV[2])
end
return 1
`);

/** KEYS: record, log. ARGV: fence. */
const remove = luaScript(`
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and tonumber(fence) > tonumber(ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1], KEYS[2])
`);

/** Scripts to make known to a new connection. */
export const directoryScripts = [lease, look, nameAt, claim, put, write, remove];

/** Longer than any session that nobody uses is kept. */
const storeMs = 7 * 24 * 60 * 60 * 1000;

/** What scripts answer with 0, 1 and 2. */
export const writings: readonly Written[] = ['fenced', 'written', 'behind'];

/** The directory in Redis: a hash for each session, and a key for each lease. */
export class RedisDirectory implements Directory {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #leaseMs: string;
  readonly #ttl: string;

  constructor(
    connection: RedisConnection,
    keys: Keys,
    { leaseMs, idleMs }: { readonly leaseMs: number; readonly idleMs: number },
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#leaseMs = String(Math.ceil(leaseMs));
    // Its owner says a few times in that time that it is in use.
    this.#ttl = String(Math.ceil(1.5 * idleMs));
  }

  async lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
  ): Promise<LeaseReply> {
    const { store, nodes } = this.#keys;
    const until = typeof how === 'string' ? how : String(Math.floor(how.reviveUntilMs));
    const reply = (await this.#connection.run(
      lease,
      [store, this.#keys.lease(node), nodes],
      [node, this.#leaseMs, until, String(storeMs)],
    )) as StoreReply;
    return { isHeld: reply[0] === 1, untilMs: Number(reply[1]), store: storeOf(reply) };
  }

  async leave(node: string): Promise<void> {
    const { nodes } = this.#keys;
    const lease = this.#keys.lease(node);
    await this.#connection.command(['DEL', lease], lease);
    await this.#connection.command(['ZREM', nodes, node], nodes);
  }

  async find(id: string): Promise<Found> {
    const canBe = this.#keys.isId(id);
    const record = canBe ? await this.#read(id) : undefined;
    const keys = [this.#keys.store, this.#keys.lease(record?.owner ?? '')];
    const reply = (await this.#connection.run(look, keys, [])) as StoreReply;
    const store = storeOf(reply);
    // A master of a cluster may be new, and lack the record, before the one that has the leases knows of it.
    const isOther = canBe && !record && (await this.#nameAt(id)) !== store.name;
    if (isOther) {
      const message = 'the masters of the cluster do not agree yet';
      throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
    }
    return { record, isOwned: reply[0] === 1, store };
  }

  async claim(
    id: string,
    node: string,
    read: { readonly fence: number; readonly store: string },
  ): Promise<SessionRecord | undefined> {
    const args = [node, String(read.fence), read.store, this.#ttl];
    const reply = await this.#connection.run(claim, [this.#keys.record(id)], args);
    return reply === null ? undefined : recordOf(id, reply as readonly string[]);
  }

  async put(record: SessionRecord, untilMs: number): Promise<boolean> {
    const { id, fence, revision, owner, principal, facts } = record;
    const said = Object.entries(facts).flatMap(([slot, text]) => [`${factPrefix}${slot}`, text]);
    const reply = await this.#connection.run(
      put,
      [this.#keys.record(id)],
      [
        ...[fence, revision, untilMs].map(String),
        this.#ttl,
        ...['owner', owner],
        ...(principal === undefined ? [] : ['principal', principal]),
        ...said,
      ],
    );
    return reply === 1;
  }

  async write(
    { id, fence, revision }: Pick<SessionRecord, 'id' | 'fence' | 'revision'>,
    change?: { readonly slot: string; readonly text: string | undefined },
  ): Promise<Written> {
    const args = [String(fence), String(revision), this.#ttl];
    if (change) args.push(`${factPrefix}${change.slot}`);
    if (change?.text !== undefined) args.push(change.text);
    const reply = await this.#connection.run(write, [this.#keys.record(id)], args);
    return writings[Number(reply)] ?? 'behind';
  }

  async remove(id: string, fence: number): Promise<void> {
    const keys = [this.#keys.record(id), this.#keys.log(id)];
    await this.#connection.run(remove, keys, [String(fence)]);
  }

  #nameAt(id: string): Promise<Reply> {
    return this.#connection.run(nameAt, [this.#keys.record(id)], []);
  }

  async #read(id: string): Promise<Found['record']> {
    const key = this.#keys.record(id);
    const fields = ['principal', 'owner', 'fence'];
    const reply = await this.#connection.command(['HMGET', key, ...fields], key);
    const [principal, owner, fence] = reply as readonly (string | null)[];
    if (typeof owner !== 'string' || typeof fence !== 'string') return undefined;
    return { principal: principal ?? undefined, owner, fence: Number(fence) };
  }
}

/** Before the slots of what a client has said. */
const factPrefix = 'said:';

type StoreReply = readonly [number, string, string, string, string];

function storeOf([, , name, since, at]: StoreReply): Found['store'] {
  return { name, sinceMs: Number(since), ageMs: Number(at) - Number(since) };
}

/** A hash as Redis answers it: names and values by turns. */
function recordOf(id: string, reply: readonly Reply[]): SessionRecord {
  const fields = new Map<string, string>();
  for (let n = 0; n < reply.length; n += 2) fields.set(String(reply[n]), String(reply[n + 1]));
  const facts = [...fields]
    .filter(([name]) => name.startsWith(factPrefix))
    .map(([name, text]) => [name.slice(factPrefix.length), text]);
  return {
    id,
    principal: fields.get('principal'),
    owner: fields.get('owner') ?? '',
    fence: Number(fields.get('fence')),
    revision: Number(fields.get('revision')),
    facts: Object.fromEntries(facts) as SessionRecord['facts'],
  };
}
