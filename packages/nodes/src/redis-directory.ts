import { StoreUnavailable, isNodeName } from '../../http/src/nodes/stores.ts';
import type {
  Directory,
  SessionLookup,
  LeaseReply,
  LeaseRequest,
  NodeAddress,
  SessionRecord,
  WriteResult,
} from '../../http/src/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection, Reply } from './connection.ts';
import type { Keys } from './keys.ts';

/** Maximum remembered deletions; the oldest are dropped first. */
const maxRemoved = 100_000;

/**
 * Identity of this Redis's data: its run id, or the failover epoch of a cluster. Constant if the
 * user may not read it.
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
 * KEYS: store, lease, nodes, removed, secret, broadcasts. ARGV: node; leaseMs; 'new', 'prolong' or
 * the latest time for a revival; time to live of the store's identity; address; start of unknown
 * deletions; time deletions are remembered. Returns whether the lease is held, its end, name and
 * start of the store's data, the time, the number of broadcasts, and the deleted sessions. If Redis
 * had no data at all, the store is as old as its process: nobody had anything in it.
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
  redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[2])
  held = 1
end
if held == 1 then redis.call('ZADD', KEYS[3], at, ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', at - ARGV[7])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -${maxRemoved + 1})
redis.call('PEXPIRE', KEYS[5], ARGV[4])
redis.call('PEXPIRE', KEYS[6], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', at - ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
local removed = redis.call('ZRANGEBYSCORE', KEYS[4], ARGV[6], '+inf')
local since = redis.call('HGET', KEYS[1], 'since')
local count = redis.call('GET', KEYS[6]) or '0'
return {held, string.format('%.0f', at + ARGV[2]), name, since, string.format('%.0f', at), count, removed}
`);

/**
 * KEYS: store, lease, removed. ARGV: session. Returns the address if the lease lasts, whether the
 * session was deleted, name and start of the store's data, and the time.
 */
const look = luaScript(`${storeName}
local name = storeName()
local known = redis.call('HMGET', KEYS[1], 'name', 'since')
local at = string.format('%.0f', now())
local since = known[1] == name and known[2] or at
local removed = redis.call('ZSCORE', KEYS[3], ARGV[1])
return {redis.call('GET', KEYS[2]), removed, name, since, at}
`);

/** KEYS: removed. ARGV: time to live, ids. \`PEXPIRE\` first: a full Redis still executes it. */
const remember = luaScript(`
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for n = 2, #ARGV do redis.call('ZADD', KEYS[1], string.format('%.0f', now()), ARGV[n]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`);

/** KEYS: secret. ARGV: candidate, ttlMs. Returns the secret. */
const secret = luaScript(`
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return redis.call('GET', KEYS[1])
`);

/** KEYS: record. Returns the identity of the data on this key's master. */
const nameAt = luaScript(`${storeName}
return storeName()
`);

/** KEYS: record. ARGV: node, expected fence, expected store identity, ttlMs. Returns the record. */
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

/**
 * KEYS: record. ARGV: fence, revision, ttlMs, then optionally a field and its value. Returns 0:
 * fenced; 1: written; 2: behind.
 */
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

/** KEYS: record, log. ARGV: fence. Returns 0: fenced. */
const remove = luaScript(`
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and tonumber(fence) > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
`);

/** Scripts loaded on each new connection. */
export const directoryScripts = [lease, look, nameAt, claim, put, write, remove, remember, secret];

/** Longer than any idle session is kept. */
const storeMs = 7 * 24 * 60 * 60 * 1000;

/** Meaning of the results 0, 1 and 2 of scripts. */
export const writeResults: readonly WriteResult[] = ['fenced', 'written', 'behind'];

/** Session directory in Redis: a hash per session and a key per lease. */
export class RedisDirectory implements Directory {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #leaseMs: string;
  readonly #ttl: string;
  /** Time a deletion is remembered: longer than any copy of the record lives. */
  readonly #removedMs: string;
  readonly #onLeased: (broadcasts: number, store: string) => void;

  /** @param leased called with the number of broadcasts after each lease request */
  constructor(
    connection: RedisConnection,
    keys: Keys,
    { leaseMs, idleMs }: { readonly leaseMs: number; readonly idleMs: number },
    leased: (broadcasts: number, store: string) => void,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#onLeased = leased;
    this.#removedMs = String(Math.ceil(2 * idleMs));
    this.#leaseMs = String(Math.ceil(leaseMs));
    // The owner of a session in use renews it several times within this time.
    this.#ttl = String(Math.ceil(1.5 * idleMs));
  }

  async lease(
    node: string,
    how: 'new' | 'prolong' | { readonly reviveUntilMs: number },
    { address, removedSinceMs }: LeaseRequest,
  ): Promise<LeaseReply> {
    const { store, nodes, removed, secret: key, broadcasts } = this.#keys;
    const until = typeof how === 'string' ? how : String(Math.floor(how.reviveUntilMs));
    const reply = (await this.#connection.run(
      lease,
      [store, this.#keys.lease(node), nodes, removed, key, broadcasts],
      [
        ...[node, this.#leaseMs, until, String(storeMs)],
        ...[`${address.protocol} ${address.url}`, String(removedSinceMs), this.#removedMs],
      ],
    )) as StoreReply;
    const age = storeOf(reply);
    const [held, untilMs, , , , count, ids] = reply;
    this.#onLeased(Number(count), age.name);
    const leased = { isHeld: held === 1, untilMs: Number(untilMs), store: age };
    return { ...leased, removed: ids as readonly string[] };
  }

  async leave(node: string): Promise<void> {
    const { nodes } = this.#keys;
    const lease = this.#keys.lease(node);
    await this.#connection.command(['DEL', lease], lease);
    await this.#connection.command(['ZREM', nodes, node], nodes);
  }

  async find(id: string): Promise<SessionLookup> {
    const canBe = this.#keys.isId(id);
    const record = canBe ? await this.#read(id) : undefined;
    const { address, store, isRemoved } = await this.#look(record?.owner ?? '', canBe ? id : '');
    // A newly promoted master may lack the record before the master with the leases knows of the
    // failover.
    const isOther = canBe && !record && (await this.#nameAt(id)) !== store.name;
    if (isOther) {
      const message = 'the masters of the cluster do not agree yet';
      throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
    }
    if (isRemoved) return { record: undefined, isRemoved, address: undefined, store };
    return { record, isRemoved, address, store };
  }

  async node(name: string): Promise<Pick<SessionLookup, 'address' | 'store'>> {
    const { address, store } = await this.#look(isNodeName(name) ? name : '', '');
    return { address, store };
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
  ): Promise<WriteResult> {
    const args = [String(fence), String(revision), this.#ttl];
    if (change) args.push(`${factPrefix}${change.slot}`);
    if (change?.text !== undefined) args.push(change.text);
    const reply = await this.#connection.run(write, [this.#keys.record(id)], args);
    return writeResults[Number(reply)] ?? 'behind';
  }

  async remove(id: string, fence: number): Promise<boolean> {
    const keys = [this.#keys.record(id), this.#keys.log(id)];
    if ((await this.#connection.run(remove, keys, [String(fence)])) === 0) return false;
    await this.rememberRemoved([id]);
    return true;
  }

  async rememberRemoved(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += 1000) {
      const args = [this.#removedMs, ...ids.slice(at, at + 1000)];
      await this.#connection.run(remember, [this.#keys.removed], args);
    }
  }

  async secret(candidate: string): Promise<string> {
    const args = [candidate, String(storeMs)];
    return String(await this.#connection.run(secret, [this.#keys.secret], args));
  }

  async #look(node: string, id: string) {
    const keys = [this.#keys.store, this.#keys.lease(node), this.#keys.removed];
    const reply = (await this.#connection.run(look, keys, [id])) as StoreReply;
    const [text, removed] = reply;
    const address = typeof text === 'string' ? addressOf(text) : undefined;
    return { address, isRemoved: removed !== null, store: storeOf(reply) };
  }

  #nameAt(id: string): Promise<Reply> {
    return this.#connection.run(nameAt, [this.#keys.record(id)], []);
  }

  async #read(id: string): Promise<SessionLookup['record']> {
    const key = this.#keys.record(id);
    const fields = ['principal', 'owner', 'fence'];
    const reply = await this.#connection.command(['HMGET', key, ...fields], key);
    const [principal, owner, fence] = reply as readonly (string | null)[];
    if (typeof owner !== 'string' || typeof fence !== 'string') return undefined;
    return { principal: principal ?? undefined, owner, fence: Number(fence) };
  }
}

/** Prefix of the fields with facts. */
const factPrefix = 'said:';

type StoreReply = readonly [Reply, Reply, string, string, string, Reply?, Reply?];

/** Parses a stored address: protocol version and URL. */
function addressOf(text: string): NodeAddress | undefined {
  const [, protocol, url] = /^(\d+) (.+)$/.exec(text) ?? [];
  return url === undefined ? undefined : { url, protocol: Number(protocol) };
}

function storeOf([, , name, since, at]: StoreReply): SessionLookup['store'] {
  return { name, sinceMs: Number(since), ageMs: Number(at) - Number(since) };
}

/** Parses a hash reply of alternating names and values. */
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
