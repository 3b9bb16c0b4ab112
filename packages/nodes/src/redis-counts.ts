import { createHash } from 'node:crypto';
import type { CallCounts } from '../../http/src/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

/**
 * KEYS: counter. ARGV: for each rate its name, calls and milliseconds. Returns milliseconds to
 * wait; 0 if the call was counted. The key expires once all buckets are full, so callers who invent
 * names leave nothing behind.
 */
const take = luaScript(`
local at, wait, ttl, left = now(), 0, 0, {}
for n = 1, #ARGV, 3 do
  local calls, per = tonumber(ARGV[n + 1]), tonumber(ARGV[n + 2])
  local had, since = unpack(redis.call('HMGET', KEYS[1], ARGV[n], ARGV[n] .. ':since'))
  left[n] = had and math.min(calls, had + math.max(0, at - since) * calls / per) or calls
  wait = math.max(wait, (1 - left[n]) * per / calls)
  ttl = math.max(ttl, (calls - left[n] + 1) * per / calls)
end
if wait > 0.001 then return math.ceil(wait) end
for n = 1, #ARGV, 3 do
  redis.call('HSET', KEYS[1], ARGV[n], tostring(left[n] - 1), ARGV[n] .. ':since', string.format('%.0f', at))
end
redis.call('PEXPIRE', KEYS[1], math.ceil(ttl))
return 0
`);

/** Scripts loaded on each new connection. */
export const countScripts = [take];

/** Rate limits in Redis: one hash per caller and tool. */
export const redisCounts = (connection: RedisConnection, keys: Keys): CallCounts => ({
  take: async (who, rates) => {
    const key = keys.count(createHash('sha256').update(who).digest('base64url'));
    const args = [...rates].flatMap(([name, { calls, perMs }]) => [name, `${calls}`, `${perMs}`]);
    return Number(await connection.run(take, [key], args));
  },
});
