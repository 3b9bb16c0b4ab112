import type {
  StoredEvent,
  StreamEvent,
  StreamLog,
  SessionRecord,
  StoreLimits,
  WriteResult,
} from '../../http/src/nodes/stores.ts';
import { luaScript } from './connection.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { writeResults } from './redis-directory.ts';

/**
 * KEYS: record, log. ARGV: fence, maxEvents, maxBytes, maxAgeMs, 'put' to replace the log, entries.
 * Each stored entry starts with its time and length. Returns 0: fenced; 1: written; 2: behind.
 */
const append = luaScript(`
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence ~= ARGV[1] then return fence and tonumber(fence) > tonumber(ARGV[1]) and 0 or 2 end
local at = now()
local before = redis.call('LLEN', KEYS[2])
for n = 6, #ARGV do
  redis.call('RPUSH', KEYS[2], string.format('%.0f %d ', at, #ARGV[n]) .. ARGV[n])
end
if ARGV[5] == 'put' then redis.call('LTRIM', KEYS[2], before, -1) end
local count = redis.call('LLEN', KEYS[2])
local bytes = tonumber(redis.call('HGET', KEYS[1], 'logBytes') or '0')
if count == #ARGV - 5 then bytes = 0 end
for n = 6, #ARGV do bytes = bytes + #ARGV[n] end
while count > 0 do
  local head = redis.call('LRANGE', KEYS[2], 0, 0)[1]
  local time, length = string.match(head, '^(%d+) (%d+) ')
  if count <= tonumber(ARGV[2]) and bytes <= tonumber(ARGV[3]) and at - time < tonumber(ARGV[4]) then break end
  redis.call('LPOP', KEYS[2])
  bytes = bytes - length
  count = count - 1
end
redis.call('HSET', KEYS[1], 'logBytes', bytes)
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return 1
`);

/** KEYS: log. Returns the time and all entries. */
const read = luaScript(`
local entries = redis.call('LRANGE', KEYS[1], 0, -1)
table.insert(entries, 1, string.format('%.0f', now()))
return entries
`);

/** Scripts loaded on each new connection. */
export const logScripts = [append, read];

/** Event logs in Redis: a list per session. */
export class RedisLog implements StreamLog {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #bounds: readonly string[];
  readonly #maxAgeMs: number;

  constructor(connection: RedisConnection, keys: Keys, limits: StoreLimits) {
    const { maxEvents, maxBytes, maxAgeMs } = limits;
    this.#connection = connection;
    this.#keys = keys;
    this.#bounds = [maxEvents, maxBytes, Math.ceil(maxAgeMs)].map(String);
    this.#maxAgeMs = maxAgeMs;
  }

  append(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly StreamEvent[]) {
    return this.#write('append', at, entries);
  }

  put(at: Pick<SessionRecord, 'id' | 'fence'>, entries: readonly StreamEvent[]) {
    return this.#write('put', at, entries);
  }

  async read(id: string): Promise<readonly StoredEvent[]> {
    const reply = (await this.#connection.run(read, [this.#keys.log(id)], [])) as readonly string[];
    const [now, ...entries] = reply;
    return entries
      .map((entry) => {
        const [time, length] = entry.split(' ', 2) as [string, string];
        const text = entry.slice(time.length + length.length + 2);
        return { ...(JSON.parse(text) as StreamEvent), ageMs: Number(now) - Number(time) };
      })
      .filter(({ ageMs }) => ageMs < this.#maxAgeMs);
  }

  async #write(
    how: 'append' | 'put',
    { id, fence }: Pick<SessionRecord, 'id' | 'fence'>,
    entries: readonly StreamEvent[],
  ): Promise<WriteResult> {
    const keys = [this.#keys.record(id), this.#keys.log(id)];
    const texts = entries.map((entry) => JSON.stringify(entry));
    const args = [String(fence), ...this.#bounds, how, ...texts];
    return writeResults[Number(await this.#connection.run(append, keys, args))] ?? 'behind';
  }
}
