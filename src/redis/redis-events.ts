import type {
  EventLimits,
  EventStore,
  Followed,
  Replay,
  StreamEvent,
} from '../http/nodes/event-store.ts';
import { StreamFollower } from '../http/nodes/stream-follower.ts';
import { isStreamName, writerOf } from '../http/nodes/names.ts';
import type { EventPlace } from '../http/nodes/names.ts';
import type { RequestId } from '../protocol/frames.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { luaScript } from './connection.ts';

/**
 * KEYS: streams. ARGV: stream, what it owes, ttlMs. A stream's entry has its last number, and by line the ids of the
 * requests that it owes.
 */
const open = luaScript(`
redis.call('HSET', KEYS[1], ARGV[1], '0' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`);

/**
 * KEYS: events, streams, followers. ARGV: 'event' or 'end', stream, number, text, the id that it
 * answers, maxEvents, maxBytes, maxAgeMs. Who follows the stream.
 */
const append = luaScript(`
local at = now()
local entry = redis.call('HGET', KEYS[2], ARGV[2])
if ARGV[1] == 'end' then redis.call('HDEL', KEYS[2], ARGV[2])
elseif entry then
  local owed = ''
  for id in string.gmatch(entry, '\\n([^\\n]+)') do
    if id ~= ARGV[5] then owed = owed .. '\\n' .. id end
  end
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. owed)
end
redis.call('XADD', KEYS[1], '*', 's', ARGV[2], 'n', ARGV[3], 't', ARGV[4], 'a', ARGV[5], 'k', ARGV[1])
local count = redis.call('XLEN', KEYS[1])
local bytes = count == 1 and #ARGV[4] or redis.call('HGET', KEYS[2], '#bytes') + #ARGV[4]
local oldest = count == 1 and at or tonumber(redis.call('HGET', KEYS[2], '#oldest'))
while count > 0 and (count > tonumber(ARGV[6]) or bytes > tonumber(ARGV[7]) or at - oldest >= tonumber(ARGV[8])) do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 2)
  redis.call('XDEL', KEYS[1], first[1][1])
  bytes = bytes - #first[1][2][6]
  oldest = first[2] and tonumber(string.match(first[2][1], '^%d+')) or at
  count = count - 1
end
redis.call('HSET', KEYS[2], '#bytes', bytes, '#oldest', oldest)
redis.call('PEXPIRE', KEYS[1], ARGV[8])
redis.call('PEXPIRE', KEYS[2], ARGV[9])
local followers = {}
for _, member in ipairs(redis.call('SMEMBERS', KEYS[3])) do
  local stream, node = string.match(member, '^(.*)|(.*)$')
  if stream == ARGV[2] then table.insert(followers, node) end
end
return followers
`);

/**
 * KEYS: events, streams. ARGV: stream, number, maxAgeMs. The stream's entry, the number and kind of its
 * last event, and number, text and answered id of each that comes after the number.
 */
const replay = luaScript(`
local from = '(' .. (now() - ARGV[3]) .. '-0'
local answer = {redis.call('HGET', KEYS[2], ARGV[1]) or '', '', ''}
while true do
  local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 100)
  for _, entry in ipairs(entries) do
    local fields = entry[2]
    if fields[2] == ARGV[1] then
      answer[2], answer[3] = fields[4], fields[10]
      if fields[10] == 'event' and tonumber(fields[4]) > tonumber(ARGV[2]) then
        for _, n in ipairs({4, 6, 8}) do table.insert(answer, fields[n]) end
      end
    end
    from = '(' .. entry[1]
  end
  if #entries < 100 then return answer end
end
`);

/** Scripts to make known to a new connection. */
export const eventScripts = [open, append, replay];

/** What it needs of the other nodes. */
export interface Nodes {
  readonly node: string;
  isAlive(node: string): Promise<boolean>;
  tellAppended(node: string, session: string, stream: string): Promise<unknown>;
}

interface RunningFollower {
  readonly session: string;
  readonly stream: string;
  readonly follower: StreamFollower;
}

const idOf = (id: RequestId | undefined): string => (id === undefined ? '' : JSON.stringify(id));

/** Event logs in Redis: a stream for each session. */
export class RedisEvents implements EventStore {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #limits: EventLimits;
  readonly #idle: string;
  readonly #nodes: Nodes;
  readonly #followers = new Set<RunningFollower>();

  constructor(
    connection: RedisConnection,
    keys: Keys,
    limits: EventLimits & { readonly idleMs: number },
    nodes: Nodes,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limits = limits;
    this.#idle = String(Math.ceil(limits.idleMs));
    this.#nodes = nodes;
  }

  async open(session: string, stream: string, requests: readonly RequestId[]): Promise<void> {
    const owed = requests.map((id) => `\n${idOf(id)}`).join('');
    await this.#connection.run(open, [this.#keys.of(session).streams], [stream, owed, this.#idle]);
  }

  append(session: string, { stream, number, text, answers }: StreamEvent): Promise<void> {
    return this.#append(session, ['event', stream, String(number), text, idOf(answers)]);
  }

  end(session: string, { stream, number }: EventPlace): Promise<void> {
    return this.#append(session, ['end', stream, String(number), '', '']);
  }

  async replay(session: string, { stream, number }: EventPlace): Promise<Replay> {
    const unknown: Replay = { events: [], missed: 0, state: { kind: 'unknown' } };
    if (!this.#keys.isSessionId(session) || !isStreamName(stream)) return unknown;
    const { events: eventsKey, streams } = this.#keys.of(session);
    const [entry = '', last = '', kind = '', ...fields] = (await this.#connection.run(
      replay,
      [eventsKey, streams],
      [stream, String(number), String(Math.ceil(this.#limits.maxAgeMs))],
    )) as readonly string[];
    const events = eventsOf(stream, fields);
    if (entry === '' && kind === '') return unknown;
    const [openLast, ...owed] = entry.split('\n');
    const lastNumber = Number(entry === '' ? last : openLast);
    const missed = Math.max(0, lastNumber - number - events.length);
    if (entry === '' && kind === 'end') return { events, missed, state: { kind: 'ended' } };
    const unanswered = owed.map((id) => JSON.parse(id) as RequestId);
    return { events, missed, state: { kind: 'open', unanswered } };
  }

  follow(session: string, after: EventPlace, listener: (followed: Followed) => void): () => void {
    const { stream } = after;
    const stop = (): void => {
      running.follower.stop();
      if (this.#followers.delete(running)) this.#note('SREM', running);
    };
    const follower = new StreamFollower(
      {
        replay: (number) => this.replay(session, { stream, number }),
        isOwnerAlive: () => this.#nodes.isAlive(writerOf(stream)),
      },
      after.number,
      (followed) => {
        if (follower.isEnded) stop();
        listener(followed);
      },
    );
    const running: RunningFollower = { session, stream, follower };
    this.#followers.add(running);
    this.#note('SADD', running);
    follower.look();
    return stop;
  }

  async forget(session: string): Promise<void> {
    const { events, streams, followers } = this.#keys.of(session);
    await this.#connection.command(['DEL', events, streams, followers]);
  }

  /** Another node has appended to a stream that is followed here. */
  appended(session: string, stream: string): void {
    for (const each of this.#followers) {
      if (each.session === session && each.stream === stream) each.follower.look();
    }
  }

  /** A writer may have died, a notice may have been lost, and so may Redis' data. */
  lookAgain(): void {
    for (const running of this.#followers) {
      this.#note('SADD', running);
      running.follower.look();
    }
  }

  close(): void {
    for (const { follower } of this.#followers) follower.stop();
    this.#followers.clear();
  }

  async #append(session: string, event: readonly string[]): Promise<void> {
    const { events, streams, followers } = this.#keys.of(session);
    const { maxEvents, maxBytes, maxAgeMs } = this.#limits;
    const bounds = [maxEvents, maxBytes, Math.ceil(maxAgeMs)].map(String);
    const nodes = (await this.#connection.run(
      append,
      [events, streams, followers],
      [...event, ...bounds, this.#idle],
    )) as readonly string[];
    const [, stream = ''] = event;
    for (const node of nodes) {
      // A follower also looks by itself, a little later.
      this.#nodes.tellAppended(node, session, stream).catch(() => undefined);
    }
  }

  /** Followers are told of what is appended as long as they are noted. */
  #note(how: 'SADD' | 'SREM', { session, stream }: RunningFollower): void {
    if (!this.#keys.isSessionId(session)) return;
    const { followers } = this.#keys.of(session);
    const commands = [[how, followers, `${stream}|${this.#nodes.node}`]];
    if (how === 'SADD') commands.push(['PEXPIRE', followers, this.#idle]);
    // Without it they look less often.
    for (const command of commands) this.#connection.command(command).catch(() => undefined);
  }
}

/** Number, text and answered id by turns. */
function eventsOf(stream: string, fields: readonly string[]): StreamEvent[] {
  const events: StreamEvent[] = [];
  for (let n = 0; n + 2 < fields.length; n += 3) {
    const [number, text = '', answers = ''] = fields.slice(n, n + 3);
    events.push({
      stream,
      number: Number(number),
      text,
      ...(answers === '' ? {} : { answers: JSON.parse(answers) as RequestId }),
    });
  }
  return events.sort((a, b) => a.number - b.number);
}
