/**
 * Tasks in Redis, for any number of nodes: a hash for each task, and what leads to them. The time is the server's.
 *
 * In a cluster a task and what leads to it are on different masters, so that no script writes both. What
 * leads to a task is written before the task, and removed after it: it leads to each task, and perhaps to some
 * that are gone or belong to somebody else by now, which is found out when they are claimed.
 */
import { refuseDuration } from '../actors/clock.ts';
import type {
  ClaimRequest,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskRecord,
  TaskStep,
  TaskStore,
  TaskWritten,
} from '../tasks/task-store.ts';
import { RedisConnection, luaScript } from './connection.ts';
import type { RedisConnectionOptions, Script } from './connection.ts';
import { Keys } from './keys.ts';
import { defaultRedisOptions } from './redis-stores.ts';

/** Which Redis, and how it is reached: by a `url`, or by a ready client. */
export interface RedisTaskStoreOptions extends Partial<
  Omit<RedisConnectionOptions, 'silenceMs' | 'reconnectMs'>
> {
  /** Before every key; nodes with the same one share. Default `mcp:`. */
  readonly prefix?: string;
  /** How long a lease lasts without a sign of life, milliseconds; 30 s by default. */
  readonly leaseMs?: number;
}

/** KEYS: task. ARGV: server, owner, text, ttlMs. 0: there is a task of this id. */
const create = luaScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'server', ARGV[1], 'owner', ARGV[2], 'text', ARGV[3],
  'fence', 1, 'claims', 0, 'state', 'open', 'places', 0)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`);

/** KEYS: task. How long it is kept, and its fields; the names of steps begin with a colon. */
const read = luaScript(`
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1])}
`);

/** What became of a write, as scripts answer it. */
const writings: readonly TaskWritten[] = ['written', 'ended', 'fenced'];

/** Answers for those who must not write to a task. ARGV[1]: their fence; empty if anybody may. */
const refuseOthers = `
local there = redis.call('HMGET', KEYS[1], 'state', 'fence')
if there[1] ~= 'open' then return {1} end
if ARGV[1] ~= '' and ARGV[1] ~= there[2] then return {2} end
`;

/** KEYS: task. ARGV: fence, key, text. A step has its place before its text. */
const append = luaScript(`${refuseOthers}
local field = ':' .. ARGV[2]
local before = redis.call('HGET', KEYS[1], field)
local place = before and string.match(before, '^%d+') or redis.call('HINCRBY', KEYS[1], 'places', 1)
redis.call('HSET', KEYS[1], field, place .. ' ' .. ARGV[3])
return {0}
`);

/** KEYS: task. ARGV: fence, text. Whose it was. */
const finish = luaScript(`${refuseOthers}
redis.call('HSET', KEYS[1], 'state', 'ended', 'text', ARGV[2])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == ':' then redis.call('HDEL', KEYS[1], field) end
end
return {0, redis.call('HGET', KEYS[1], 'owner'), redis.call('HGET', KEYS[1], 'server')}
`);

/** KEYS: task. ARGV: owner, server, whose leases last. As {@link read}; otherwise why not. */
const claim = luaScript(`
local there = redis.call('HMGET', KEYS[1], 'state', 'server', 'owner')
if there[1] ~= 'open' or there[2] ~= ARGV[2] then return {'gone'} end
if there[3] == ARGV[1] then return {'ours'} end
for n = 3, #ARGV do if there[3] == ARGV[n] then return {'owned'} end end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('HINCRBY', KEYS[1], 'fence', 1)
redis.call('HINCRBY', KEYS[1], 'claims', 1)
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1])}
`);

/** Keeps what leads to tasks at least that long: nothing stays for ever. */
const keep = `
local function keep(key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
`;

/** KEYS: owners, the open tasks of this one. ARGV: owner, leaseMs, how long it is remembered. */
const lease = luaScript(`${keep}
local at = now()
keep(KEYS[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', at)
redis.call('ZADD', KEYS[1], at + ARGV[2], ARGV[1])
return 1
`);

/** KEYS: owners. ARGV: owner. */
const leave = luaScript(`
return redis.call('ZADD', KEYS[1], 'XX', now(), ARGV[1])
`);

/** KEYS: owners. Those whose leases last. */
const living = luaScript(`
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now()), '+inf')
`);

/** KEYS: owners, the open tasks of this one. ARGV: owner, task, ttlMs. */
const lead = luaScript(`${keep}
redis.call('ZADD', KEYS[2], now() + ARGV[3], ARGV[2])
keep(KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[1], 'NX', 0, ARGV[1])
keep(KEYS[1], ARGV[3])
return 1
`);

/** Notes that a task has changed. KEYS[1] and KEYS[2]: the last change, what has changed. */
const changed = (mostKept: number) => `${keep}
local function changed(id, ms)
  local last = redis.call('INCR', KEYS[1])
  redis.call('ZADD', KEYS[2], last, id)
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -${mostKept + 1})
  keep(KEYS[1], ms)
  keep(KEYS[2], ms)
end
`;

/** Whoever looks as seldom as that misses some: its next write tells it. */
const changesKept = 50_000;

/** KEYS: last change, changes, the open tasks of its owner. ARGV: task, its id, how long changes are kept. */
const leadNoMore = luaScript(`${changed(changesKept)}
redis.call('ZREM', KEYS[3], ARGV[1])
changed(ARGV[2], ARGV[3])
return 1
`);

/**
 * KEYS: owners, reserved, the open tasks of this one. ARGV: before an owner's open tasks, before a task of
 * this server, how many, until when others leave them. Whose leases last; and by turns a task, and who had it.
 */
const findUnowned = luaScript(`${keep}
local at = now()
local given = {}
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', at)
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at)) do
  local open = ARGV[1] .. owner
  redis.call('ZREMRANGEBYSCORE', open, '-inf', at)
  if redis.call('EXISTS', open) == 0 then redis.call('ZREM', KEYS[1], owner) end
  local from = 0
  while #given < 2 * ARGV[3] do
    local some = redis.call('ZRANGE', open, from, from + 999, 'WITHSCORES')
    if #some == 0 then break end
    for n = 1, #some, 2 do
      local task = some[n]
      local isOurs = string.sub(task, 1, #ARGV[2]) == ARGV[2]
      if #given < 2 * ARGV[3] and isOurs and not redis.call('ZSCORE', KEYS[2], task) then
        redis.call('ZADD', KEYS[2], at + ARGV[4], task)
        redis.call('ZADD', KEYS[3], some[n + 1], task)
        keep(KEYS[3], math.ceil(math.max(1, some[n + 1] - at)))
        table.insert(given, task)
        table.insert(given, owner)
      end
    end
    from = from + 1000
  end
end
keep(KEYS[2], ARGV[4])
return {redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', at), '+inf'), given}
`);

/**
 * KEYS: last change, changes, reserved, the open tasks of this one. ARGV: before an owner's open tasks, how long
 * changes are kept, then by threes a task, who had it, and what became of it; a claimed one's id.
 */
const settle = luaScript(`${changed(changesKept)}
for n = 3, #ARGV, 3 do
  local task, owner, became = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  redis.call('ZREM', ARGV[1] .. owner, task)
  redis.call('ZREM', KEYS[3], task)
  if became == 'gone' then redis.call('ZREM', KEYS[4], task)
  elseif became ~= 'ours' and became ~= 'owned' then changed(became, ARGV[2]) end
end
return 1
`);

/** KEYS: last change, changes. ARGV: since. The last one, and what has changed. */
const changesSince = luaScript(`
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local since = tonumber(ARGV[1])
-- It counts anew in a Redis that has lost its data.
if since > last then since = 0 end
return {last, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. since, '+inf')}
`);

const taskScripts = [
  ...[create, read, append, finish, claim, lease, leave, living, lead],
  ...[leadNoMore, findUnowned, settle, changesSince],
];

/** How long others leave a task to whoever claims it, milliseconds. */
const reservedMs = 10_000;

/** Longer than a task is kept, as a rule: it is prolonged with each. */
const rememberedMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Opens the tasks in a Redis, version 6.2 or newer. It must not evict keys (`maxmemory-policy noeviction`), and what
 * it has told is as durable as Redis makes it (`appendonly yes`, `appendfsync always`).
 *
 * @throws {StoreUnavailable} Redis cannot be reached
 * @throws {RangeError} an option that cannot be
 */
export async function redisTaskStore(given: RedisTaskStoreOptions): Promise<TaskStore> {
  const options = { ...defaultRedisOptions, leaseMs: 30_000, ...given };
  for (const name of ['commandTimeoutMs', 'leaseMs'] as const) refuseDuration(name, options[name]);
  const { leaseMs, commandTimeoutMs } = options;
  const keys = new Keys(options.prefix);
  // A process that lives asks for something a few times in a lease.
  const spoken = { ...options, reconnectMs: 1000, silenceMs: leaseMs + 2 * commandTimeoutMs };
  const connection = new RedisConnection(spoken, taskScripts);
  try {
    await connection.open();
  } catch (error) {
    connection.close();
    throw error;
  }
  return new RedisTaskStore(connection, keys, leaseMs);
}

/** Before the id in what leads to a task. */
const ofServer = (server: string) => `${JSON.stringify(server)}:`;

class RedisTaskStore implements TaskStore {
  readonly leaseMs: number;
  readonly #connection: RedisConnection;
  readonly #keys: Keys;

  constructor(connection: RedisConnection, keys: Keys, leaseMs: number) {
    this.#connection = connection;
    this.#keys = keys;
    this.leaseMs = leaseMs;
  }

  async lease(owner: string): Promise<void> {
    const args = [owner, String(this.leaseMs), String(rememberedMs)];
    await this.#run(lease, this.#leading(owner), args);
  }

  async leave(owner: string): Promise<void> {
    await this.#run(leave, [this.#keys.taskOwners], [owner]);
  }

  async create({ taskId, server, owner, text, ttlMs }: NewTaskRecord): Promise<TaskClaim> {
    const ttl = String(Math.max(1, Math.ceil(ttlMs)));
    const [isNew] = await Promise.all([
      this.#run(create, [this.#keys.task(taskId)], [server, owner, text, ttl]),
      this.#run(lead, this.#leading(owner), [owner, `${ofServer(server)}${taskId}`, ttl]),
    ]);
    if (isNew !== 1) throw new Error(`There is a task ${taskId} already`);
    return { taskId, fence: 1 };
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    if (!this.#keys.isId(taskId)) return undefined;
    const [found, owners] = await Promise.all([
      this.#run(read, [this.#keys.task(taskId)], []),
      this.#run(living, [this.#keys.taskOwners], []),
    ]);
    const record = recordOf(taskId, found as FoundReply);
    return record && { record, isOwned: (owners as readonly string[]).includes(record.owner) };
  }

  async append({ taskId, fence }: TaskClaim, { key, text }: TaskStep): Promise<TaskWritten> {
    const args = [String(fence), key, text];
    const [became] = (await this.#run(append, [this.#keys.task(taskId)], args)) as [number];
    return writings[became] ?? 'ended';
  }

  async finish(
    { taskId, ...claimed }: Omit<TaskClaim, 'fence'> | TaskClaim,
    text: string,
  ): Promise<TaskWritten> {
    const fence = 'fence' in claimed ? String(claimed.fence) : '';
    const reply = await this.#run(finish, [this.#keys.task(taskId)], [fence, text]);
    const [became, owner = '', server = ''] = reply as readonly [number, string?, string?];
    if (became === 0) {
      const keys = [...this.#changes, `${this.#keys.openTasks}${owner}`];
      const args = [`${ofServer(server)}${taskId}`, taskId, String(rememberedMs)];
      // It has ended, whether others hear of it or find out.
      await this.#run(leadNoMore, keys, args).catch(() => {});
    }
    return writings[became] ?? 'ended';
  }

  async claim(request: ClaimRequest): Promise<readonly TaskRecord[]> {
    const { max, taskId } = request;
    if (taskId !== undefined) return this.#claimOne(request, taskId);
    const all: TaskRecord[] = [];
    for (;;) {
      const claimed = await this.#claimSome({ ...request, max: max - all.length });
      all.push(...claimed.records);
      if (claimed.isAll || all.length >= max) return all;
    }
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    const reply = await this.#run(changesSince, this.#changes, [String(since ?? 0)]);
    const [upTo, taskIds] = reply as readonly [number, readonly string[]];
    return { upTo, taskIds: since === undefined ? [] : taskIds };
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  get #changes(): readonly string[] {
    return [this.#keys.lastTaskChange, this.#keys.changedTasks];
  }

  #leading(owner: string): readonly string[] {
    return [this.#keys.taskOwners, `${this.#keys.openTasks}${owner}`];
  }

  #run(script: Script, keys: readonly string[], args: readonly string[]) {
    return this.#connection.run(script, keys, args);
  }

  async #claimOne({ owner, server }: ClaimRequest, taskId: string): Promise<readonly TaskRecord[]> {
    const { taskOwners } = this.#keys;
    const ttl = String(rememberedMs);
    const [owners] = await Promise.all([
      this.#run(living, [taskOwners], []),
      this.#run(lead, this.#leading(owner), [owner, `${ofServer(server)}${taskId}`, ttl]),
    ]);
    const candidate = { taskId, owner: '' };
    return this.#take(owner, server, [candidate], owners as readonly string[]);
  }

  /** What is free, of which others may be quicker with some. */
  async #claimSome({ owner, server, max }: ClaimRequest) {
    const { taskOwners, reservedTasks, openTasks } = this.#keys;
    const before = ofServer(server);
    const reply = await this.#run(
      findUnowned,
      [taskOwners, reservedTasks, `${openTasks}${owner}`],
      [openTasks, before, String(max), String(reservedMs)],
    );
    const [owners, given] = reply as readonly [readonly string[], readonly string[]];
    const candidates: { readonly taskId: string; readonly owner: string }[] = [];
    for (let n = 0; n < given.length; n += 2) {
      candidates.push({ taskId: given[n]!.slice(before.length), owner: given[n + 1]! });
    }
    const records = await this.#take(owner, server, candidates, owners);
    return { records, isAll: candidates.length < max };
  }

  /** Takes those that are nobody's, and notes what has become of all. */
  async #take(
    owner: string,
    server: string,
    candidates: readonly { readonly taskId: string; readonly owner: string }[],
    owners: readonly string[],
  ): Promise<readonly TaskRecord[]> {
    if (candidates.length === 0) return [];
    const taken = await Promise.allSettled(
      candidates.map(async ({ taskId, owner: before }) => {
        const keys = [this.#keys.task(taskId)];
        const reply = await this.#run(claim, keys, [owner, server, ...owners]);
        const record = recordOf(taskId, reply as FoundReply);
        const became = record ? taskId : (reply as readonly [string])[0];
        return { record, noted: [`${ofServer(server)}${taskId}`, before, became] };
      }),
    );
    const known = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const { openTasks, reservedTasks } = this.#keys;
    const keys = [...this.#changes, reservedTasks, `${openTasks}${owner}`];
    const args = [openTasks, String(rememberedMs), ...known.flatMap(({ noted }) => noted)];
    // What is not noted is found again.
    await this.#run(settle, keys, args).catch(() => {});
    const records = known.flatMap(({ record }) => record ?? []);
    const failed = taken.find((one) => one.status === 'rejected');
    if (failed && records.length === 0) throw failed.reason as Error;
    return records;
  }
}

type FoundReply = readonly [number, readonly string[]] | readonly [string];

/** A hash as Redis answers it: names and values by turns. */
function recordOf(taskId: string, reply: FoundReply): TaskRecord | undefined {
  const [ttlMs, values] = reply;
  if (typeof ttlMs === 'string' || !values || values.length === 0) return undefined;
  const fields = new Map<string, string>();
  const steps: (TaskStep & { readonly place: number })[] = [];
  for (let n = 0; n < values.length; n += 2) {
    const [name, value] = [values[n]!, values[n + 1]!];
    fields.set(name, value);
    if (!name.startsWith(':')) continue;
    const [place = ''] = value.split(' ', 1);
    steps.push({ key: name.slice(1), text: value.slice(place.length + 1), place: Number(place) });
  }
  const field = (name: string) => fields.get(name) ?? '';
  return {
    taskId,
    ttlMs,
    ...{ server: field('server'), owner: field('owner'), text: field('text') },
    ...{ fence: Number(field('fence')), claims: Number(field('claims')) },
    state: field('state') as TaskRecord['state'],
    steps: steps
      .toSorted((a, b) => a.place - b.place)
      .map(({ key, text }) => ({ key, text })),
  };
}
