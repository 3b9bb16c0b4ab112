/** Lua scripts of the task store. Each is atomic and uses the server's time. */
import { luaScript } from './connection.ts';

/** Time a task is reserved for the process that claims it, milliseconds. */
export const reservedMs = 10_000;

/** Minimum time to live of indexes, milliseconds. */
export const rememberedMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Adds the steps from ARGV[from] on, alternating keys and texts. A stored step starts with its
 * position.
 */
const addSteps = `
local function addSteps(from, keepsEarlier)
  for n = from, #ARGV, 2 do
    local field = ':' .. ARGV[n]
    local before = redis.call('HGET', KEYS[1], field)
    if not (before and keepsEarlier) then
      local place = before and string.match(before, '^%d+') or redis.call('HINCRBY', KEYS[1], 'places', 1)
      redis.call('HSET', KEYS[1], field, place .. ' ' .. ARGV[n + 1])
    end
  end
end
`;

/** Extends a key's time to live to at least `ms`, so that no index lives forever. */
const keep = `
local function keep(key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
`;

/** KEYS: task. ARGV: server, owner, text, ttlMs, quota, steps. Returns 0 if the id is taken. */
const create = luaScript(`${addSteps}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'server', ARGV[1], 'owner', ARGV[2], 'text', ARGV[3],
  'fence', 1, 'claims', 0, 'state', 'open', 'places', 0, 'share', ARGV[5])
addSteps(6)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`);

/** KEYS: task. Returns time to live, fields and the time. Names of steps start with a colon. */
const read = luaScript(`
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1]), now()}
`);

/**
 * Rejects writes to ended tasks and with an outdated fence. ARGV[1]: the writer's fence; empty to
 * skip the check.
 */
const refuseOthers = `
local there = redis.call('HMGET', KEYS[1], 'state', 'fence', 'owner', 'server', 'dueAt', 'share')
if there[1] ~= 'open' then return {1} end
if ARGV[1] ~= '' and ARGV[1] ~= there[2] then return {2} end
`;

/** KEYS: task. ARGV: fence, text. Returns owner, server, quota and time to live. */
const finish = luaScript(`${refuseOthers}
redis.call('HSET', KEYS[1], 'state', 'ended', 'text', ARGV[2])
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 1) == ':' then redis.call('HDEL', KEYS[1], field) end
end
return {0, there[3], there[4], there[6] or '', redis.call('PTTL', KEYS[1])}
`);

/**
 * KEYS: task. ARGV: owner, server, whether to reclaim its own task, owners with a lease. Returns
 * the task as {@link read} does, or why not, with the due time of a parked task.
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

/**
 * Maximum remembered changes. A process that polls too rarely misses some, and learns of them with
 * its next write.
 */
const changesKept = 50_000;

/** Records a change: increments the change number and adds the task to the changes. */
const changed = `${keep}
local function changed(last, changes, id, ms)
  redis.call('ZADD', changes, redis.call('INCR', last), id)
  redis.call('ZREMRANGEBYRANK', changes, 0, -${changesKept + 1})
  keep(last, ms)
  keep(changes, ms)
end
`;

/**
 * Indexes a parked task, never after its due time, and with a new score each time: a process that
 * saw an earlier score removes nothing.
 */
const leadToDue = `
local function leadToDue(key, path, due, ms)
  local before = redis.call('ZSCORE', key, path)
  if before then due = math.min(due, tonumber(before)) end
  redis.call('ZADD', key, string.format('%.3f', due - 0.002), path)
  keep(key, ms)
end
`;

/**
 * Appends steps to a task. ARGV[1]: fence; ARGV[2]: parking time or empty. Sets `due` if the task
 * is parked or woken.
 */
const appendSteps = `${refuseOthers}${addSteps}
local due
if ARGV[1] == '' then due = now()
elseif ARGV[2] ~= '' then
  due = math.min(now() + ARGV[2], there[5] and tonumber(there[5]) or math.huge)
end
local function append(from)
  addSteps(from, ARGV[1] == '')
  if ARGV[1] ~= '' and due then redis.call('HSET', KEYS[1], 'owner', '') end
  if due then redis.call('HSET', KEYS[1], 'dueAt', string.format('%.0f', due)) end
end
`;

/** KEYS: task. ARGV: fence, parking time or empty, steps. Returns the owner and the due time. */
const append = luaScript(`${appendSteps}
append(3)
return {0, there[3], due and string.format('%.0f', due) or ''}
`);

/**
 * KEYS: task, last change, changes, and parked tasks if it is parked or woken. ARGV: fence, parking
 * time or empty, index entry, key prefix of open tasks, task id to announce or empty, time to live
 * of changes, time to live of the index, steps. Combines {@link append} and {@link parked}.
 */
const appendWhole = luaScript(`${appendSteps}${changed}${leadToDue}
append(8)
if due then leadToDue(KEYS[4], ARGV[3], due, ARGV[7]) end
if ARGV[2] ~= '' then redis.call('ZREM', ARGV[4] .. there[3], ARGV[3]) end
if ARGV[5] ~= '' then changed(KEYS[2], KEYS[3], ARGV[5], ARGV[6]) end
return {0}
`);

/**
 * KEYS: parked tasks, open tasks of the owner. ARGV: index entry, time from now, time to live.
 * Returns the score of the owner's entry.
 */
const leadAhead = luaScript(`${keep}${leadToDue}
leadToDue(KEYS[1], ARGV[1], now() + ARGV[2], ARGV[3])
return redis.call('ZSCORE', KEYS[2], ARGV[1]) or ''
`);

/**
 * KEYS: last change, changes, parked tasks, open tasks of the owner. ARGV: index entry; due time or
 * empty; time to live of the index; score of the owner's entry, or empty to keep it; task id to
 * announce or empty; time to live of changes.
 */
const parked = luaScript(`${changed}${leadToDue}
if ARGV[2] ~= '' then leadToDue(KEYS[3], ARGV[1], tonumber(ARGV[2]), ARGV[3]) end
-- Unless the owner claimed the task again.
if ARGV[4] ~= '' and redis.call('ZSCORE', KEYS[4], ARGV[1]) == ARGV[4] then
  redis.call('ZREM', KEYS[4], ARGV[1])
end
if ARGV[5] ~= '' then changed(KEYS[1], KEYS[2], ARGV[5], ARGV[6]) end
return 1
`);

/** Maximum expired tasks removed from the indexes at a time. */
const forgottenAtOnce = 1000;

/**
 * KEYS: owners, open tasks of this owner, expiries, ids. ARGV: owner, leaseMs, time to live of the
 * index.
 */
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

/** KEYS: owners. Returns owners with a current lease. */
const living = luaScript(`
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now()), '+inf')
`);

/**
 * KEYS: owners, open tasks of this owner, expiries, ids, tasks and evictable tasks of the quota.
 * ARGV: owner, index entry, ttlMs, task id if new, maximum tasks of the quota. Returns 0 if the
 * quota is full, or the id of an evicted task.
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

/** KEYS: evictable tasks of a quota. ARGV: task, time to live. */
const letGo = luaScript(`${keep}
redis.call('ZADD', KEYS[1], now() + ARGV[2], ARGV[1])
keep(KEYS[1], ARGV[2])
return 1
`);

/**
 * KEYS: last change, changes, and indexes to remove the entry from. ARGV: index entry, task id,
 * time to live of changes.
 */
const leadNoMore = luaScript(`${changed}
for n = 3, #KEYS do redis.call('ZREM', KEYS[n], ARGV[1]) end
changed(KEYS[1], KEYS[2], ARGV[2], ARGV[3])
return 1
`);

/**
 * KEYS: owners, reserved tasks, open tasks of this owner, parked tasks. ARGV: key prefix of open
 * tasks, prefix of this server's index entries, maximum tasks, reservation time in milliseconds,
 * tasks to skip. Returns owners with a current lease; entry, index and score of each task; and the
 * time until the next one is due.
 */
const findUnowned = luaScript(`${keep}
local at = now()
local given = {}
local except = {}
for n = 5, #ARGV do except[ARGV[n]] = true end
local function give(task, from, score, over)
  if except[task] or #given >= 3 * ARGV[3] or redis.call('ZSCORE', KEYS[2], task) then return end
  redis.call('ZADD', KEYS[2], at + ARGV[4], task)
  -- A new score each time, so that a process that saw an earlier one removes nothing.
  local before = redis.call('ZSCORE', KEYS[3], task)
  if before then over = math.max(over, before + 0.001) end
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
  -- Skips the claimer's own tasks, even after its lease expired.
  while open ~= KEYS[3] and #given < 3 * ARGV[3] do
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
 * KEYS: last change, changes, reserved tasks, open tasks of this owner, and the indexes of the
 * candidates. ARGV: time to live of changes, then for each candidate its entry, the position of its
 * index among KEYS or 0, its score, the outcome, and the task id to announce or the due time.
 */
const settle = luaScript(`${changed}
for n = 2, #ARGV, 5 do
  local task, place, score, became, more = ARGV[n], tonumber(ARGV[n + 1]), ARGV[n + 2], ARGV[n + 3], ARGV[n + 4]
  -- Unless the entry was replaced.
  if place > 0 and redis.call('ZSCORE', KEYS[place], task) == score then
    if became == 'early' then redis.call('ZADD', KEYS[place], more, task)
    else redis.call('ZREM', KEYS[place], task) end
  end
  redis.call('ZREM', KEYS[3], task)
  if became == 'claimed' or became == 'told' then changed(KEYS[1], KEYS[2], more, ARGV[1])
  elseif became == 'gone' then redis.call('ZREM', KEYS[4], task) end
end
return 1
`);

/**
 * KEYS: last change, changes. ARGV: known change number. Returns the last change number, the
 * changed tasks and the time.
 */
const changesSince = luaScript(`
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local since = tonumber(ARGV[1])
-- The counter restarts in a Redis that lost its data.
if since > last then since = 0 end
return {last, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. since, '+inf'), now()}
`);

export const taskScripts = {
  create,
  read,
  append,
  appendWhole,
  leadAhead,
  parked,
  finish,
  claim,
  lease,
  leave,
  living,
  lead,
  letGo,
  leadNoMore,
  findUnowned,
  settle,
  changesSince,
};
