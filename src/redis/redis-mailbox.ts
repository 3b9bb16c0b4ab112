import type {
  Delivery,
  Hold,
  Letter,
  Mailbox,
  MailboxListener,
  MailboxNotice,
  PushLimits,
  Taken,
} from '../http/nodes/mailbox.ts';
import { writerOf } from '../http/nodes/names.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { NodePost } from './node-post.ts';
import { luaScript } from './connection.ts';

/** KEYS: nodes. ARGV: node, ttlMs. */
const join = luaScript(`
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`);

/** KEYS: nodes, holder, pushes, hands. ARGV: stream, how, ttlMs. What came of it, who held, how many wait, and who has something in its hand. */
const hold = luaScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return {'gone'} end
local holder = redis.call('HGET', KEYS[2], 'stream') or ''
local hands = redis.call('HKEYS', KEYS[4])
if holder ~= '' and holder ~= ARGV[1] and ARGV[2] == 'ifFree' then return {'taken', holder} end
redis.call('HSET', KEYS[2], 'stream', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return {'held', holder, redis.call('LLEN', KEYS[3]), hands}
`);

/** Drops the oldest pushes past the bounds. */
const trim = `
local function trim(pushes, holder, bytes, maxPushes, maxBytes)
  local dropped = 0
  while redis.call('LLEN', pushes) > tonumber(maxPushes) or bytes > tonumber(maxBytes) do
    bytes = bytes - #redis.call('LPOP', pushes)
    dropped = dropped + 1
  end
  redis.call('HSET', holder, 'bytes', bytes)
  if dropped > 0 then redis.call('HINCRBY', holder, 'dropped', dropped) end
end
`;

/** KEYS: nodes, holder, pushes. ARGV: text, maxPushes, maxPushBytes, ttlMs. Who holds; nothing: there is no such session. */
const push = luaScript(`${trim}
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('RPUSH', KEYS[3], ARGV[1])
trim(KEYS[3], KEYS[2], (redis.call('HGET', KEYS[2], 'bytes') or 0) + #ARGV[1], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return redis.call('HGET', KEYS[2], 'stream') or ''
`);

/** KEYS: nodes, holder, pushes, hands. ARGV: stream, ttlMs. How many were dropped, and what waited; nothing: another one holds. */
const take = luaScript(`
if redis.call('HGET', KEYS[2], 'stream') ~= ARGV[1] then return false end
local answer = {redis.call('HGET', KEYS[2], 'dropped') or '0'}
local texts = redis.call('LRANGE', KEYS[3], 0, -1)
redis.call('DEL', KEYS[3])
redis.call('HDEL', KEYS[2], 'dropped', 'bytes')
if #texts == 0 then return answer end
local hand = redis.call('HGET', KEYS[4], ARGV[1])
hand = hand and cjson.decode(hand) or {}
for _, text in ipairs(texts) do
  table.insert(hand, text)
  table.insert(answer, text)
end
redis.call('HSET', KEYS[4], ARGV[1], cjson.encode(hand))
redis.call('PEXPIRE', KEYS[4], ARGV[2])
return answer
`);

/** KEYS: nodes, holder, pushes, hands. ARGV: stream, count. */
const written = luaScript(`
local hand = redis.call('HGET', KEYS[4], ARGV[1])
if not hand then return 0 end
local rest = {}
for n, text in ipairs(cjson.decode(hand)) do
  if n > tonumber(ARGV[2]) then table.insert(rest, text) end
end
if #rest == 0 then redis.call('HDEL', KEYS[4], ARGV[1])
else redis.call('HSET', KEYS[4], ARGV[1], cjson.encode(rest)) end
return 1
`);

/**
 * KEYS: nodes, holder, pushes, hands. ARGV: stream, maxPushes, maxPushBytes, ttlMs. What the stream
 * had in its hand waits again. Whether it held, who holds, and how many wait.
 */
const release = luaScript(`${trim}
local hand = redis.call('HGET', KEYS[4], ARGV[1])
if hand then
  local texts = cjson.decode(hand)
  local bytes = redis.call('HGET', KEYS[2], 'bytes') or 0
  for n = #texts, 1, -1 do
    redis.call('LPUSH', KEYS[3], texts[n])
    bytes = bytes + #texts[n]
  end
  redis.call('HDEL', KEYS[4], ARGV[1])
  trim(KEYS[3], KEYS[2], bytes, ARGV[2], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
local holder = redis.call('HGET', KEYS[2], 'stream') or ''
if holder == ARGV[1] then redis.call('HDEL', KEYS[2], 'stream') end
return {holder, redis.call('LLEN', KEYS[3])}
`);

/** Scripts to make known to a new connection. */
export const mailboxScripts = [join, hold, push, take, written, release];

/** Letters by way of Redis, and pushes in it. */
export class RedisMailbox implements Mailbox {
  readonly #connection: RedisConnection;
  readonly #keys: Keys;
  readonly #limits: PushLimits;
  readonly #idle: string;
  readonly #post: NodePost;
  readonly #joined = new Set<string>();
  #listener: MailboxListener | undefined;

  constructor(
    connection: RedisConnection,
    keys: Keys,
    limits: PushLimits & { readonly idleMs: number },
    post: NodePost,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#limits = limits;
    this.#idle = String(Math.ceil(limits.idleMs));
    this.#post = post;
  }

  listen(listener: MailboxListener): void {
    this.#listener = listener;
  }

  async join(session: string): Promise<void> {
    this.#joined.add(session);
    await this.#run(join, session, [this.#post.node, this.#idle]);
  }

  async leave(session: string): Promise<void> {
    this.#joined.delete(session);
    await this.#connection.command(['SREM', this.#keys.of(session).nodes, this.#post.node]);
  }

  async send(node: string, letter: Letter): Promise<Delivery> {
    if (node !== this.#post.node) return this.#post.send(node, letter);
    this.letter(letter);
    return { kind: 'received' };
  }

  async broadcast(letter: Letter): Promise<void> {
    const others = await this.#others(letter.session);
    const deliveries = await Promise.all(
      others.map(async (node) => ({ node, delivery: await this.#post.send(node, letter) })),
    );
    const gone = deliveries.filter(({ delivery }) => delivery.kind === 'gone');
    if (gone.length === 0) return;
    const { nodes } = this.#keys.of(letter.session);
    await this.#connection.command(['SREM', nodes, ...gone.map(({ node }) => node)]);
  }

  async hold(session: string, stream: string, how: 'newest' | 'ifFree'): Promise<Hold> {
    const [kind, holder = '', waiting, hands] = (await this.#run(hold, session, [
      stream,
      how,
      this.#idle,
    ])) as readonly [string, string?, number?, (readonly string[])?];
    if (kind === 'gone') return { kind: 'gone' };
    if (kind === 'taken') {
      if (await this.#post.isAlive(writerOf(holder))) return { kind: 'taken', by: holder };
      await this.#release(session, holder);
      return this.hold(session, stream, how);
    }
    if (holder !== '' && holder !== stream && writerOf(holder) !== this.#post.node) {
      const notice: MailboxNotice = { kind: 'hold.taken', session, stream: holder };
      // Who does not hear of it asks to release, and is told then.
      this.#post.notify(writerOf(holder), notice).catch(() => undefined);
    }
    const recovered = await this.#recover(session, hands ?? []);
    return { kind: 'held', waiting: Number(waiting) > 0 || recovered > 0 };
  }

  async release(session: string, stream: string): Promise<void> {
    const [holder, waiting] = await this.#release(session, stream);
    if (holder === stream) await this.#tellFree(await this.#others(session), session);
    else if (holder !== '' && waiting > 0) await this.#tellWaiting(session, holder);
  }

  async push(session: string, text: string): Promise<void> {
    const { maxPushes, maxPushBytes } = this.#limits;
    const bounds = [String(maxPushes), String(maxPushBytes), this.#idle];
    const holder = await this.#run(push, session, [text, ...bounds]);
    if (typeof holder === 'string') await this.#tellWaiting(session, holder);
  }

  async take(session: string, stream: string): Promise<Taken> {
    const reply = await this.#run(take, session, [stream, this.#idle]);
    if (reply === null) return { kind: 'notHolder' };
    const [dropped, ...texts] = reply as readonly string[];
    return { kind: 'taken', texts, dropped: Number(dropped) };
  }

  async written(session: string, stream: string, count: number): Promise<void> {
    await this.#run(written, session, [stream, String(count)]);
  }

  async forget(session: string): Promise<void> {
    this.#joined.delete(session);
    const { nodes, holder, pushes, hands } = this.#keys.of(session);
    await this.#connection.command(['DEL', nodes, holder, pushes, hands]);
  }

  /** From the post. */
  letter(letter: Letter): void {
    this.#listener?.letter(letter);
  }

  /** From the post. */
  notice(notice: MailboxNotice): void {
    this.#listener?.notice(notice);
  }

  /** The store may have forgotten who has replicas. */
  async lapsed(): Promise<void> {
    await Promise.all(
      [...this.#joined].map((session) => this.#run(join, session, [this.#post.node, this.#idle])),
    );
    this.notice({ kind: 'node.lapsed' });
  }

  #run(what: typeof join, session: string, args: readonly string[]) {
    const { nodes, holder, pushes, hands } = this.#keys.of(session);
    return this.#connection.run(what, [nodes, holder, pushes, hands], args);
  }

  async #others(session: string): Promise<readonly string[]> {
    const members = await this.#connection.command(['SMEMBERS', this.#keys.of(session).nodes]);
    return (members as readonly string[]).filter((node) => node !== this.#post.node);
  }

  async #release(session: string, stream: string): Promise<readonly [string, number]> {
    const { maxPushes, maxPushBytes } = this.#limits;
    const bounds = [String(maxPushes), String(maxPushBytes), this.#idle];
    return (await this.#run(release, session, [stream, ...bounds])) as readonly [string, number];
  }

  /** What dead nodes have taken and not written waits again. How many hands that were. */
  async #recover(session: string, hands: readonly string[]): Promise<number> {
    const others = hands.filter((stream) => writerOf(stream) !== this.#post.node);
    const alive = await Promise.all(others.map((stream) => this.#post.isAlive(writerOf(stream))));
    const dead = others.filter((_, n) => alive[n] === false);
    for (const stream of dead) await this.#release(session, stream);
    return dead.length;
  }

  /** If the holder is dead, its pushes are free. */
  async #tellWaiting(session: string, holder: string): Promise<void> {
    if (holder !== '') {
      const notice: MailboxNotice = { kind: 'pushes.waiting', session, stream: holder };
      const { kind } = await this.#post.notify(writerOf(holder), notice);
      if (kind === 'received') return;
      await this.#release(session, holder);
    }
    await this.#tellFree([...(await this.#others(session)), this.#post.node], session);
  }

  /** Who is not reached may hold the pushes whenever it looks for them. */
  async #tellFree(nodes: readonly string[], session: string): Promise<void> {
    await Promise.allSettled(
      nodes.map((node) => this.#post.notify(node, { kind: 'hold.free', session })),
    );
  }
}
