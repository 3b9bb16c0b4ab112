import type {
  Creation,
  HeldSession,
  JournalEntry,
  NewSession,
  SessionStoreLimits,
  SessionRecord,
  SessionStore,
  TouchReport,
  Update,
} from '../http/nodes/session-store.ts';
import type { RedisConnection, Reply } from './connection.ts';
import type { Keys } from './keys.ts';
import { luaScript } from './connection.ts';

/** A place among the sessions. KEYS: index. ARGV: id, maxSessions, idleMs, evictableMs. */
const reserve = luaScript(`
local at = now()
redis.call('ZADD', KEYS[1], at, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local answer = {1}
local count = redis.call('ZCARD', KEYS[1])
while count > tonumber(ARGV[2]) do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  local waitMs = ARGV[4] - (at - oldest[2])
  if waitMs > 0 then
    redis.call('ZREM', KEYS[1], ARGV[1])
    return {0, math.ceil(waitMs)}
  end
  redis.call('ZREM', KEYS[1], oldest[1])
  table.insert(answer, oldest[1])
  count = count - 1
end
return answer
`);

/** Uses that are now. KEYS: index. ARGV: idleMs, ids. Those that have lost their place get it back. */
const use = luaScript(`
local at = now()
redis.call('PEXPIRE', KEYS[1], ARGV[1])
for n = 2, #ARGV do redis.call('ZADD', KEYS[1], at, ARGV[n]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`);

/**
 * KEYS: record. ARGV: idleMs, version, bytes, then fields and values. A younger one stays.
 */
const put = luaScript(`
local version = redis.call('HGET', KEYS[1], 'version')
if version and tonumber(version) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'bytes', ARGV[3])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if field ~= 'version' and field ~= 'bytes' then redis.call('HDEL', KEYS[1], field) end
end
for n = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[n], ARGV[n + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`);

/**
 * KEYS: record. ARGV: idleMs, maxJournalBytes, slot, 'set' or 'remove', text.
 * The version; -1: there is no session; -2: too long.
 */
const update = luaScript(`
local version = redis.call('HGET', KEYS[1], 'version')
if not version then return -1 end
local field = 'journal:' .. ARGV[3]
local earlier = redis.call('HGET', KEYS[1], field)
local bytes = tonumber(redis.call('HGET', KEYS[1], 'bytes'))
local text = earlier and string.match(earlier, '^%d+ (.*)$')
if text then bytes = bytes - #ARGV[3] - #text end
if ARGV[4] == 'set' then
  bytes = bytes + #ARGV[3] + #ARGV[5]
  if bytes > tonumber(ARGV[2]) then return -2 end
end
if ARGV[4] == 'remove' or text == ARGV[5] then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if ARGV[4] == 'set' and text == ARGV[5] or ARGV[4] == 'remove' and not text then return tonumber(version) end
version = redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'bytes', bytes)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
if ARGV[4] == 'set' then redis.call('HSET', KEYS[1], field, version .. ' ' .. ARGV[5])
else redis.call('HDEL', KEYS[1], field) end
return version
`);

/** KEYS: record, and what expires with it. ARGV: idleMs. The version; nothing: there is no session. */
const touch = luaScript(`
for n = 1, #KEYS do redis.call('PEXPIRE', KEYS[n], ARGV[1]) end
return redis.call('HGET', KEYS[1], 'version')
`);

/** KEYS: epoch. ARGV: one for a store that has none; how long it is kept, milliseconds. */
const epoch = luaScript(`
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('GET', KEYS[1])
`);

/** Longer than any session that nobody uses is kept. */
const epochMs = 7 * 24 * 60 * 60 * 1000;

/** Scripts to make known to a new connection. */
export const sessionScripts = [reserve, use, put, update, touch, epoch];

/** Sessions in Redis: a hash each, and one sorted set of all. */
export class RedisSessions implements SessionStore {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #limits: SessionStoreLimits;
  readonly #idle: string;
  readonly #ownEpoch: string = crypto.randomUUID();
  #epoch: Reply = null;

  constructor(connection: RedisConnection, keys: Keys, limits: SessionStoreLimits) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limits = limits;
    this.#idle = String(Math.ceil(limits.idleMs));
  }

  /** Notes which data the store has, so that a loss is noticed. */
  async open(): Promise<void> {
    this.#epoch = await this.#readEpoch();
  }

  async create({ id, principal, revision, initialize }: NewSession): Promise<Creation> {
    const { record } = this.#keys.of(id);
    const { maxSessions, evictableMs } = this.#limits;
    const [granted, ...rest] = (await this.#connection.run(
      reserve,
      [this.#keys.index],
      [id, String(maxSessions), this.#idle, String(evictableMs)],
    )) as [number, ...Reply[]];
    if (granted === 0) return { kind: 'full', retryAfterMs: Number(rest[0]) };
    const evicted = rest.map(String);
    const entry: JournalEntry = { slot: 'initialize', version: 1, text: initialize };
    try {
      await Promise.all([
        this.#put({ id, principal, revision, version: 1, journal: [entry] }),
        ...evicted.map((each) => this.#connection.command(['DEL', this.#keys.of(each).record])),
      ]);
    } catch (error) {
      // Its place would be taken for as long as a session may be idle.
      await this.#connection.command(['ZREM', this.#keys.index, id]).catch(() => undefined);
      await this.#connection.command(['DEL', record]).catch(() => undefined);
      throw error;
    }
    return { kind: 'created', evicted };
  }

  async load(id: string): Promise<SessionRecord | undefined> {
    if (!this.#keys.isSessionId(id)) return undefined;
    const reply = await this.#connection.command(['HGETALL', this.#keys.of(id).record]);
    return recordOf(id, reply as readonly string[]);
  }

  async update(id: string, slot: string, text: string | undefined): Promise<Update> {
    const { maxJournalBytes } = this.#limits;
    const change = text === undefined ? ['remove', ''] : ['set', text];
    const version = await this.#connection.run(
      update,
      [this.#keys.of(id).record],
      [this.#idle, String(maxJournalBytes), slot, ...change],
    );
    if (version === -1) return { kind: 'gone' };
    if (version === -2) return { kind: 'full', maxBytes: maxJournalBytes };
    return { kind: 'updated', version: Number(version) };
  }

  async touch(sessions: readonly HeldSession[]): Promise<TouchReport> {
    if (sessions.length === 0) return { gone: [], changed: [], lost: [] };
    const [current, ...versions] = await Promise.all([
      this.#readEpoch(),
      ...sessions.map(({ id }) => {
        const { record, nodes, holder, pushes, hands, streams } = this.#keys.of(id);
        const keys = [record, nodes, holder, pushes, hands, streams];
        return this.#connection.run(touch, keys, [this.#idle]);
      }),
    ]);
    const missing = sessions.filter((_, n) => versions[n] === null).map(({ id }) => id);
    const there = sessions.filter((_, n) => versions[n] !== null).map(({ id }) => id);
    if (there.length > 0) {
      await this.#connection.run(use, [this.#keys.index], [this.#idle, ...there]);
    }
    const isSameStore = current === this.#epoch;
    this.#epoch = current;
    return {
      gone: isSameStore ? missing : [],
      lost: isSameStore ? [] : missing,
      changed: sessions
        .filter(({ version }, n) => versions[n] !== null && Number(versions[n]) !== version)
        .map(({ id }) => id),
    };
  }

  async restore(record: SessionRecord): Promise<void> {
    await Promise.all([
      this.#put(record),
      this.#connection.run(use, [this.#keys.index], [this.#idle, record.id]),
    ]);
  }

  async remove(id: string): Promise<boolean> {
    if (!this.#keys.isSessionId(id)) return false;
    const [removed] = await Promise.all([
      this.#connection.command(['DEL', this.#keys.of(id).record]),
      this.#connection.command(['ZREM', this.#keys.index, id]),
    ]);
    return removed === 1;
  }

  #put({ id, principal, revision, version, journal }: SessionRecord): Promise<Reply> {
    const bytes = journal.reduce(
      (sum, { slot, text }) => sum + Buffer.byteLength(slot) + Buffer.byteLength(text),
      0,
    );
    return this.#connection.run(
      put,
      [this.#keys.of(id).record],
      [
        this.#idle,
        String(version),
        String(bytes),
        'revision',
        revision,
        ...(principal === undefined ? [] : ['principal', principal]),
        ...journal.flatMap((entry) => [`journal:${entry.slot}`, `${entry.version} ${entry.text}`]),
      ],
    );
  }

  #readEpoch(): Promise<Reply> {
    return this.#connection.run(epoch, [this.#keys.epoch], [this.#ownEpoch, String(epochMs)]);
  }
}

/** A hash as Redis answers it: names and values by turns. */
function recordOf(id: string, reply: readonly string[]): SessionRecord | undefined {
  const fields = new Map<string, string>();
  for (let n = 0; n + 1 < reply.length; n += 2) fields.set(reply[n] ?? '', reply[n + 1] ?? '');
  const [version, revision] = [fields.get('version'), fields.get('revision')];
  if (version === undefined || revision === undefined) return undefined;
  const journal = [...fields]
    .filter(([name]) => name.startsWith('journal:'))
    .map(([name, value]) => {
      const space = value.indexOf(' ');
      const slot = name.slice('journal:'.length);
      return { slot, version: Number(value.slice(0, space)), text: value.slice(space + 1) };
    })
    .sort((a, b) => a.version - b.version);
  return { id, principal: fields.get('principal'), revision, version: Number(version), journal };
}
