/**
 * Tasks in Redis, for any number of nodes: a hash for each task, and what leads to them. The time is the server's.
 *
 * In a cluster a task and what leads to it are on different masters, so that no script writes both. What
 * leads to a task is written before the task, and removed after it: it leads to each task, and perhaps to some
 * that are gone or belong to somebody else by now, which is found out when they are claimed.
 */
import { refuseDuration } from '../actors/clock.ts';
import type {
  AnyClaim,
  ClaimRequest,
  ClaimedTasks,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskListRequest,
  TaskProgress,
  TaskRecord,
  TaskStep,
  TaskStore,
  TaskWritten,
} from '../tasks/task-store.ts';
import { noRoomFor } from '../tasks/task-store.ts';
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

/** How long others leave a task to the process that claims it, milliseconds. */
const reservedMs = 10_000;

/** How long what leads to tasks is kept if no task asks for more, milliseconds. */
const rememberedMs = 7 * 24 * 60 * 60 * 1000;

/** Adds the steps in ARGV from there on, keys and texts by turns. A step has its place before its text. */
const addSteps = `
local function addSteps(from)
  for n = from, #ARGV, 2 do
    local field = ':' .. ARGV[n]
    local before = redis.call('HGET', KEYS[1], field)
    local place = before and string.match(before, '^%d+') or redis.call('HINCRBY', KEYS[1], 'places', 1)
    redis.call('HSET', KEYS[1], field, place .. ' ' .. ARGV[n + 1])
  end
end
`;

/** KEYS: task. ARGV: server, owner, text, ttlMs, share, steps. 0: there is a task of this id. */
const create = luaScript(`${addSteps}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'server', ARGV[1], 'owner', ARGV[2], 'text', ARGV[3],
  'fence', 1, 'claims', 0, 'state', 'open', 'places', 0, 'share', ARGV[5])
addSteps(6)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`);

/** KEYS: task. How long it is kept, its fields, and the time; the names of steps begin with a colon. */
const read = luaScript(`
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1]), now()}
`);

/** What became of a write, as scripts answer it. */
const writings: readonly TaskWritten[] = ['written', 'ended', 'fenced'];

/** Answers for those who must not write to a task. ARGV[1]: their fence; empty if anybody may. */
const refuseOthers = `
local there = redis.call('HMGET', KEYS[1], 'state', 'fence', 'owner', 'server', 'dueAt', 'share')
if there[1] ~= 'open' then return {1} end
if ARGV[1] ~= '' and ARGV[1] ~= there[2] then return {2} end
`;

/** KEYS: task. ARGV: fence, how long it is parked or nothing, steps. Whose it was, and when it is due. */
const append = luaScript(`${refuseOthers}${addSteps}
addSteps(3)
local due
if ARGV[1] == '' then due = now()
elseif ARGV[2] ~= '' then
  due = math.min(now() + ARGV[2], there[5] and tonumber(there[5]) or math.huge)
  redis.call('HSET', KEYS[1], 'owner', '')
end
if due then redis.call('HSET', KEYS[1], 'dueAt', string.format('%.0f', due)) end
return {0, there[3], there[4], due and string.format('%.0f', due) or ''}
`);

/** KEYS: task. ARGV: fence, text. Whose it was, what it counts towards, and how long it is kept. */
const finish = luaScript(`${refuseOthers}
redis.call('HSET', KEYS[1], 'state', 'ended', 'text', ARGV[2])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == ':' then redis.call('HDEL', KEYS[1], field) end
end
return {0, there[3], there[4], there[6] or '', redis.call('PTTL', KEYS[1])}
`);

/**
 * KEYS: task. ARGV: owner, server, whether also what is its own, whose leases last. As {@link read}; otherwise why not,
 * and when it is due if it waits.
 */
const claim = luaScript(`
local there = redis.call('HMGET', KEYS[1], 'state', 'server', 'owner', 'dueAt')
if there[1] ~= 'open' or there[2] ~= ARGV[2] then return {'gone'} end
local isOurs = there[3] == ARGV[1]
if isOurs and ARGV[3] == '' then return {'ours'} end
if there[3] == '' and now() < tonumber(there[4]) then return {'early', there[4]} end
for n = 4, #ARGV do if there[3] == ARGV[n] and not isOurs then return {'owned'} end end
redis.call('HSET', KEYS[1], 'owner', ARGV[1])
redis.call('HDEL', KEYS[1], 'dueAt')
redis.call('HINCRBY', KEYS[1], 'fence', 1)
if there[3] ~= '' and not isOurs then redis.call('HINCRBY', KEYS[1], 'claims', 1) end
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1]), now()}
`);

/** Keeps what leads to tasks at least that long: nothing stays for ever. */
const keep = `
local function keep(key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
`;

/** How many tasks are forgotten at a time whose time is over. */
const forgottenAtOnce = 1000;

/** KEYS: owners, the open tasks of this one, kept, ids. ARGV: owner, leaseMs, how long it is remembered. */
const lease = luaScript(`${keep}
local at = now()
keep(KEYS[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', at)
local over = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', at, 'LIMIT', 0, ${forgottenAtOnce})
if #over > 0 then
  redis.call('ZREM', KEYS[4], unpack(over))
  redis.call('ZREM', KEYS[3], unpack(over))
end
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

/**
 * KEYS: owners, the open tasks of this one, kept, ids, its share and the room of that. ARGV: owner, task, ttlMs, its id if it is new, how many its
 * share may have. 0: it has no room; an id: what makes room for it.
 */
const lead = luaScript(`${keep}
local over = now() + ARGV[3]
local first = 1
if ARGV[5] then
  for n = 5, 6 do redis.call('ZREMRANGEBYSCORE', KEYS[n], '-inf', now()) end
  if redis.call('ZCARD', KEYS[5]) >= tonumber(ARGV[5]) then
    first = redis.call('ZPOPMIN', KEYS[6])[1]
    if not first then return 0 end
    for n = 3, 5 do redis.call('ZREM', KEYS[n], first) end
  end
  redis.call('ZADD', KEYS[5], over, ARGV[4])
end
redis.call('ZADD', KEYS[2], over, ARGV[2])
redis.call('ZADD', KEYS[1], 'NX', 0, ARGV[1])
if ARGV[4] then
  redis.call('ZADD', KEYS[3], over, ARGV[4])
  redis.call('ZADD', KEYS[4], 0, ARGV[4])
end
for n = 1, #KEYS do keep(KEYS[n], ARGV[3]) end
return first
`);

/**
 * KEYS: parked tasks. ARGV: task, when it is due at the latest, or how long it waits; how long that is kept. What leads to a parked task is
 * never later than it is due, and another number each time: what has looked at an earlier one removes nothing.
 */
const park = luaScript(`${keep}
local due = tonumber(ARGV[2])
if ARGV[3] == 'wait' then due = now() + due end
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
if before then due = math.min(due, tonumber(before)) end
redis.call('ZADD', KEYS[1], string.format('%.3f', due - 0.002), ARGV[1])
keep(KEYS[1], ARGV[4])
return 1
`);

/** A process that looks so seldom that more has changed misses some; its next write tells it. */
const changesKept = 50_000;

/** Notes that a task has changed. KEYS[1] and KEYS[2]: the last change, what has changed. */
const changed = `${keep}
local function changed(id, ms)
  local last = redis.call('INCR', KEYS[1])
  redis.call('ZADD', KEYS[2], last, id)
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -${changesKept + 1})
  keep(KEYS[1], ms)
  keep(KEYS[2], ms)
end
`;

/** KEYS: the room of a share. ARGV: task, how long it is kept. */
const letGo = luaScript(`${keep}
redis.call('ZADD', KEYS[1], now() + ARGV[2], ARGV[1])
keep(KEYS[1], ARGV[2])
return 1
`);

/**
 * KEYS: last change, changes, and what no longer leads to it. ARGV: task, its id if it is told, how long
 * changes are kept.
 */
const leadNoMore = luaScript(`${changed}
for n = 3, #KEYS do redis.call('ZREM', KEYS[n], ARGV[1]) end
if ARGV[2] ~= '' then changed(ARGV[2], ARGV[3]) end
return 1
`);

/**
 * KEYS: owners, reserved, the open tasks of this one, parked tasks. ARGV: how the keys of an owner's open tasks begin; how
 * tasks of this server begin; how many are wanted; for how long other nodes leave them, milliseconds; tasks to leave out.
 * Returns the owners whose leases last; for each task its id, the set that it was in, and its score there; and how long it
 * is until another one is due.
 */
const findUnowned = luaScript(`${keep}
local at = now()
local given = {}
local except = {}
for n = 5, #ARGV do except[ARGV[n]] = true end
local function give(task, from, score, over)
  if except[task] or #given >= 3 * ARGV[3] or redis.call('ZSCORE', KEYS[2], task) then return end
  redis.call('ZADD', KEYS[2], at + ARGV[4], task)
  redis.call('ZADD', KEYS[3], over, task)
  keep(KEYS[3], math.ceil(math.max(1, over - at)))
  table.insert(given, task)
  table.insert(given, from)
  table.insert(given, score)
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', at)
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at)) do
  local open = ARGV[1] .. owner
  redis.call('ZREMRANGEBYSCORE', open, '-inf', at)
  if redis.call('EXISTS', open) == 0 then redis.call('ZREM', KEYS[1], owner) end
  local from = 0
  while #given < 3 * ARGV[3] do
    local some = redis.call('ZRANGE', open, from, from + 999, 'WITHSCORES')
    if #some == 0 then break end
    for n = 1, #some, 2 do
      if string.sub(some[n], 1, #ARGV[2]) == ARGV[2] then give(some[n], open, some[n + 1], some[n + 1]) end
    end
    from = from + 1000
  end
end
local from = 0
while #given < 3 * ARGV[3] do
  local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', at, 'WITHSCORES', 'LIMIT', from, 1000)
  if #due == 0 then break end
  for n = 1, #due, 2 do give(due[n], KEYS[4], due[n + 1], at + ${rememberedMs}) end
  from = from + 1000
end
keep(KEYS[2], ARGV[4])
local next = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. string.format('%.0f', at), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local owners = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', at), '+inf')
return {owners, given, next and math.max(0, math.ceil(next - at)) or false}
`);

/**
 * KEYS: last change, changes, reserved, the open tasks of this one, where tasks were led to. ARGV: how long changes are
 * kept, then by fives a task, the place of its key among KEYS or 0, by which number, what became of it, and its id if it was claimed, or when
 * it is due.
 */
const settle = luaScript(`${changed}
for n = 2, #ARGV, 5 do
  local task, place, score, became, more = ARGV[n], tonumber(ARGV[n + 1]), ARGV[n + 2], ARGV[n + 3], ARGV[n + 4]
  -- Unless it is led to anew.
  if place > 0 and redis.call('ZSCORE', KEYS[place], task) == score then
    if became == 'early' then redis.call('ZADD', KEYS[place], more, task)
    else redis.call('ZREM', KEYS[place], task) end
  end
  redis.call('ZREM', KEYS[3], task)
  if became == 'claimed' then changed(more, ARGV[1])
  elseif became == 'gone' then redis.call('ZREM', KEYS[4], task) end
end
return 1
`);

/** KEYS: last change, changes. ARGV: since. The last one, what has changed, and the time. */
const changesSince = luaScript(`
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local since = tonumber(ARGV[1])
-- It counts anew in a Redis that has lost its data.
if since > last then since = 0 end
return {last, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. since, '+inf'), now()}
`);

const taskScripts = [
  ...[create, read, append, finish, claim, lease, leave, living, lead, park, letGo],
  ...[leadNoMore, findUnowned, settle, changesSince],
];

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

/** A task in what leads to it. */
const pathOf = (server: string, taskId: string) => `${JSON.stringify(server)}:${taskId}`;

/** A task that may be free: what leads to it, from which key, by which number. */
interface Candidate {
  readonly taskId: string;
  readonly from: string;
  readonly score: string;
  /** Set if it is claimed although it is the claimer's. */
  readonly isUnheard?: true;
}

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

  async create(task: NewTaskRecord): Promise<TaskClaim> {
    const { taskId, server, owner, text, ttlMs, steps = [], share } = task;
    const ttl = String(Math.max(1, Math.ceil(ttlMs)));
    const keys = this.#leading(owner);
    const leading = [owner, pathOf(server, taskId), ttl, taskId];
    const first = share
      ? await this.#run(lead, [...keys, ...this.#roomOf(share.of)], [...leading, String(share.max)])
      : await this.#run(lead, keys, leading);
    if (first === 0 && share) throw noRoomFor(share);
    if (typeof first === 'string') await this.#forget(first);
    const args = [server, owner, text, ttl, share?.of ?? '', ...argsOf(steps)];
    const isNew = await this.#run(create, [this.#keys.task(taskId)], args);
    if (isNew !== 1) throw new Error(`There is a task ${taskId} already`);
    return { taskId, fence: 1 };
  }

  async #forget(taskId: string): Promise<void> {
    const key = this.#keys.task(taskId);
    // Nothing leads to it, and it has its time to live.
    await this.#connection.command(['UNLINK', key], key).catch(() => {});
  }

  #roomOf(share: string): readonly string[] {
    return [this.#keys.shareOfTasks(share), this.#keys.roomOfTasks(share)];
  }

  async read(taskId: string): Promise<FoundTask | undefined> {
    if (!this.#keys.isId(taskId)) return undefined;
    const [record, owners] = await Promise.all([this.#record(taskId), this.#living()]);
    return record && { record, isOwned: owners.includes(record.owner) };
  }

  async append(
    { taskId, ...claimed }: AnyClaim | TaskClaim,
    { steps, parkForMs, isTold }: TaskProgress,
  ): Promise<TaskWritten> {
    const fence = 'fence' in claimed ? String(claimed.fence) : '';
    const parked = fence === '' || parkForMs === undefined ? '' : String(Math.ceil(parkForMs));
    if (parked !== '') await this.#leadToParked(taskId, parked);
    const args = [fence, parked, ...argsOf(steps)];
    const reply = await this.#run(append, [this.#keys.task(taskId)], args);
    const [became, owner = '', server = '', dueAt = ''] = reply as readonly [number, ...string[]];
    if (became !== 0) return writings[became] ?? 'ended';
    const { dueTasks, openTasks } = this.#keys;
    const path = pathOf(server, taskId);
    if (dueAt !== '') {
      const kept = String(rememberedMs + Number(parked));
      await this.#run(park, [`${dueTasks}${server}`], [path, dueAt, 'until', kept]);
    }
    const isUntold = !isTold && fence !== '';
    if (isUntold && parked === '') return 'written';
    const left = parked === '' ? [] : [`${openTasks}${owner}`];
    const told = [path, isUntold ? '' : taskId, String(rememberedMs)];
    await this.#run(leadNoMore, [...this.#changes, ...left], told);
    return 'written';
  }

  async finish(
    { taskId, ...claimed }: AnyClaim | TaskClaim,
    text: string,
    letsGo = false,
  ): Promise<TaskWritten> {
    const fence = 'fence' in claimed ? String(claimed.fence) : '';
    const reply = await this.#run(finish, [this.#keys.task(taskId)], [fence, text]);
    const [became, owner = '', server = '', share = '', ttlMs] = reply as FinishReply;
    if (became === 0) {
      if (letsGo && share !== '') {
        const room = [this.#keys.roomOfTasks(share)];
        await this.#run(letGo, room, [taskId, String(ttlMs)]).catch(() => {});
      }
      const { openTasks, dueTasks } = this.#keys;
      const keys = [...this.#changes, `${openTasks}${owner}`, `${dueTasks}${server}`];
      const args = [pathOf(server, taskId), taskId, String(rememberedMs)];
      // It has ended, whether others hear of it or find out.
      await this.#run(leadNoMore, keys, args).catch(() => {});
    }
    return writings[became] ?? 'ended';
  }

  async claim(request: ClaimRequest): Promise<ClaimedTasks> {
    const { owner, server, max, taskId, except = [] } = request;
    const tasks: TaskRecord[] = [];
    if (request.held) {
      const [owners, unheard] = await Promise.all([this.#living(), this.#unheard(request)]);
      tasks.push(...(await this.#take(request, unheard, owners)));
    }
    if (taskId !== undefined && tasks.length === 0 && !except.includes(taskId)) {
      const ttl = String(rememberedMs);
      const [owners] = await Promise.all([
        this.#living(),
        this.#run(lead, this.#leading(owner), [owner, pathOf(server, taskId), ttl]),
      ]);
      tasks.push(...(await this.#take(request, [{ taskId, from: '', score: '' }], owners)));
    }
    for (;;) {
      // Of what is free others may be quicker with some.
      const most = taskId === undefined ? max - tasks.length : 0;
      const { owners, candidates, nextInMs } = await this.#free(request, most);
      tasks.push(...(await this.#take(request, candidates, owners)));
      const isAll = most === 0 || candidates.length < most || tasks.length >= max;
      if (isAll) return { tasks, nextInMs };
    }
  }

  async changes(since: number | undefined): Promise<TaskChanges> {
    const reply = await this.#run(changesSince, this.#changes, [String(since ?? 0)]);
    const [upTo, taskIds, now] = reply as readonly [number, readonly string[], number];
    return { upTo, taskIds: since === undefined ? [] : taskIds, now };
  }

  async list({ after, max }: TaskListRequest): Promise<readonly FoundTask[]> {
    const key = this.#keys.taskIds;
    const owners = await this.#living();
    const listed: FoundTask[] = [];
    for (let from = after; listed.length < max;) {
      const range = [from === undefined ? '-' : `(${from}`, '+', 'LIMIT', '0', String(max)];
      const ids = await this.#connection.command(['ZRANGEBYLEX', key, ...range], key);
      const records = await Promise.all((ids as string[]).map((id) => this.#record(id)));
      for (const record of records) {
        if (record) listed.push({ record, isOwned: owners.includes(record.owner) });
      }
      from = (ids as string[]).at(-1);
      if (from === undefined) break;
    }
    return listed.slice(0, max);
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  get #changes(): readonly string[] {
    return [this.#keys.lastTaskChange, this.#keys.changedTasks];
  }

  #leading(owner: string): readonly string[] {
    const { taskOwners, openTasks, keptTasks, taskIds } = this.#keys;
    return [taskOwners, `${openTasks}${owner}`, keptTasks, taskIds];
  }

  #run(script: Script, keys: readonly string[], args: readonly string[]) {
    return this.#connection.run(script, keys, args);
  }

  async #living(): Promise<readonly string[]> {
    return (await this.#run(living, [this.#keys.taskOwners], [])) as readonly string[];
  }

  async #record(taskId: string): Promise<TaskRecord | undefined> {
    return recordOf(taskId, (await this.#run(read, [this.#keys.task(taskId)], [])) as FoundReply);
  }

  async #leadToParked(taskId: string, parked: string): Promise<void> {
    const key = this.#keys.task(taskId);
    const server = await this.#connection.command(['HGET', key, 'server'], key);
    if (typeof server !== 'string') return;
    const kept = String(rememberedMs + Number(parked));
    const args = [pathOf(server, taskId), parked, 'wait', kept];
    await this.#run(park, [`${this.#keys.dueTasks}${server}`], args);
  }

  /** What is the claimer's, and not known to it. */
  async #unheard(request: ClaimRequest): Promise<readonly Candidate[]> {
    const { owner, server, max, taskId, except = [], held = [] } = request;
    const key = `${this.#keys.openTasks}${owner}`;
    const own = (await this.#connection.command(['ZRANGE', key, '0', '-1'], key)) as string[];
    const before = pathOf(server, '');
    const known = new Set([...held, ...except]);
    return own
      .filter((path) => path.startsWith(before))
      .map((path) => path.slice(before.length))
      .filter((id) => !known.has(id) && (taskId ?? id) === id)
      .slice(0, max)
      .map((id) => ({ taskId: id, from: '', score: '', isUnheard: true }));
  }

  async #free({ owner, server, except = [] }: ClaimRequest, max: number) {
    const { taskOwners, reservedTasks, openTasks, dueTasks } = this.#keys;
    const before = pathOf(server, '');
    const reply = await this.#run(
      findUnowned,
      [taskOwners, reservedTasks, `${openTasks}${owner}`, `${dueTasks}${server}`],
      [openTasks, before, String(max), String(reservedMs), ...except.map((id) => before + id)],
    );
    const [owners, given, next] = reply as readonly [
      readonly string[],
      readonly string[],
      number | null,
    ];
    const candidates: Candidate[] = [];
    for (let n = 0; n < given.length; n += 3) {
      const [path = '', from = '', score = ''] = given.slice(n, n + 3);
      candidates.push({ taskId: path.slice(before.length), from, score });
    }
    return { owners, candidates, nextInMs: next ?? undefined };
  }

  /** Takes those that are nobody's, and notes what has become of all. */
  async #take(
    { owner, server }: ClaimRequest,
    candidates: readonly Candidate[],
    owners: readonly string[],
  ): Promise<readonly TaskRecord[]> {
    if (candidates.length === 0) return [];
    const { reservedTasks, openTasks } = this.#keys;
    const from = [...new Set(candidates.flatMap((each) => each.from || []))];
    const keys = [...this.#changes, reservedTasks, `${openTasks}${owner}`, ...from];
    const taken = await Promise.allSettled(
      candidates.map(async (candidate) => {
        const { taskId, isUnheard } = candidate;
        const asked = [owner, server, isUnheard ? 'own' : '', ...owners];
        const reply = await this.#run(claim, [this.#keys.task(taskId)], asked);
        const record = recordOf(taskId, reply as FoundReply);
        const why = reply as readonly [string, string?];
        const place = String(keys.indexOf(candidate.from) + 1);
        const became = record ? ['claimed', taskId] : [why[0], why[1] ?? ''];
        return { record, noted: [pathOf(server, taskId), place, candidate.score, ...became] };
      }),
    );
    const known = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const args = [String(rememberedMs), ...known.flatMap(({ noted }) => noted)];
    // What is not noted is found again.
    await this.#run(settle, keys, args).catch(() => {});
    const records = known.flatMap(({ record }) => record ?? []);
    const failed = taken.find((one) => one.status === 'rejected');
    if (failed && records.length === 0) throw failed.reason as Error;
    return records;
  }
}

const argsOf = (steps: readonly TaskStep[]) => steps.flatMap(({ key, text }) => [key, text]);

type FinishReply = readonly [
  became: number,
  owner?: string,
  server?: string,
  share?: string,
  ttlMs?: number,
];

type FoundReply = readonly [number, readonly string[], number] | readonly [string, string?];

/** A hash as Redis answers it: names and values by turns. */
function recordOf(taskId: string, reply: FoundReply): TaskRecord | undefined {
  const [ttlMs, values, now = 0] = reply;
  if (typeof ttlMs === 'string' || typeof values !== 'object' || values.length === 0) {
    return undefined;
  }
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
  const isParked = field('owner') === '' && field('state') === 'open';
  return {
    taskId,
    ttlMs,
    ...{ server: field('server'), owner: field('owner'), text: field('text') },
    ...{ fence: Number(field('fence')), claims: Number(field('claims')) },
    ...(isParked ? { dueInMs: Math.max(0, Number(field('dueAt')) - now) } : {}),
    state: field('state') as TaskRecord['state'],
    steps: steps.toSorted((a, b) => a.place - b.place).map(({ key, text }) => ({ key, text })),
  };
}
