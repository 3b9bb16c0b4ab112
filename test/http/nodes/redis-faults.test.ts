/** Redis away, slow, restarted, full: nothing hangs, and what was promised holds. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Letter, MailboxNotice } from '../../../src/http/nodes/mailbox.ts';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import type { StoreFault } from '../../../src/http/nodes/stores.ts';
import { streamName } from '../../../src/http/nodes/names.ts';
import type { Followed } from '../../../src/http/nodes/event-store.ts';
import { redisStores } from '../../../src/redis/index.ts';
import type { RedisStoresOptions } from '../../../src/redis/index.ts';
import { RedisNode } from '../../../src/redis/redis-stores.ts';
import { workFor } from '../../actors/busy-loop.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});

const nodes = new Set<RedisNode>();
afterEach(async () => {
  redis?.thaw();
  await Promise.all([...nodes].map((node) => node.close()));
  nodes.clear();
});

interface Heard {
  readonly letters: Letter[];
  readonly notices: MailboxNotice[];
}

/** For those who wait until Redis is given up. It takes as long now and then on a busy machine. */
const impatient = { leaseMs: 900, commandTimeoutMs: 300, letterTimeoutMs: 300 };

async function start(options: Partial<RedisStoresOptions> = {}): Promise<RedisNode & Heard> {
  const node = new RedisNode({
    url: redis.url,
    leaseMs: 3000,
    commandTimeoutMs: 5000,
    letterTimeoutMs: 5000,
    ...options,
  });
  await node.open();
  nodes.add(node);
  const heard: Heard = { letters: [], notices: [] };
  node.mailbox.listen({
    letter: (letter) => void heard.letters.push(letter),
    notice: (notice) => void heard.notices.push(notice),
  });
  return Object.assign(node, heard);
}

const session = (id: string) => ({ id, principal: 'anna', revision: 'any', initialize: '{}' });
const prefix = (): string => `${randomUUID()}:`;

async function faultOf(promise: Promise<unknown>): Promise<StoreFault | 'none'> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return 'none';
  if (!(error instanceof StoreUnavailable))
    throw new Error('It is another error', { cause: error });
  expect(error.retryAfterMs).toBeGreaterThan(0);
  return error.fault;
}

/** What became of a letter; of one that could not be sent, why. */
const sent = (from: RedisNode, to: string, letter: Letter) =>
  from.mailbox.send(to, letter).catch((error: unknown) => error);

/** All that a node asks of its stores. */
function everything({ sessions, events, mailbox, node }: RedisNode): Promise<unknown>[] {
  const stream = streamName(node, 1);
  return [
    sessions.create(session('s1')),
    sessions.load('s1'),
    sessions.update('s1', 'logLevel', '"info"'),
    sessions.touch([{ id: 's1', version: 1 }]),
    sessions.remove('s1'),
    events.open('s1', stream, []),
    events.append('s1', { stream, number: 1, text: '1' }),
    events.end('s1', { stream, number: 1 }),
    events.replay('s1', { stream, number: 0 }),
    events.forget('s1'),
    mailbox.join('s1'),
    mailbox.send('other', { kind: 'removed', session: 's1', reason: 'deleted' }),
    mailbox.broadcast({ kind: 'removed', session: 's1', reason: 'deleted' }),
    mailbox.hold('s1', stream, 'newest'),
    mailbox.push('s1', '1'),
    mailbox.take('s1', stream),
    mailbox.written('s1', stream, 1),
    mailbox.release('s1', stream),
    mailbox.forget('s1'),
  ];
}

describe('Redis', () => {
  test('that is not there is said when a node starts', async (context) => {
    needsRedis(context);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(await faultOf(redisStores({ url: `redis://127.0.0.1:${port}` }))).toBe('away');
  });

  test('is not called slow for what this process itself had no time to read', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix(), ...impatient });
    const faults = everything(node).map(faultOf);
    // By then they have been written.
    await setImmediate();
    workFor(400);
    expect(new Set(await Promise.all(faults))).toEqual(new Set(['none']));
  });

  test('that takes connections and says nothing is given up when a node starts', async (context) => {
    needsRedis(context);
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `redis://127.0.0.1:${port}`;
    expect(await faultOf(redisStores({ url, commandTimeoutMs: 100 }))).toBe('slow');
    server.close();
    await once(server, 'close');
  });

  test('that does not answer lets nobody wait, and is spoken to again when it answers', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix(), ...impatient });
    redis.freeze();
    const faults = await Promise.all(everything(node).map(faultOf));
    expect(new Set(faults)).toEqual(new Set(['slow']));
    // At once now: nothing is sent that would wait with the others.
    const later = everything(node).map(faultOf);
    expect(new Set(await Promise.all(later))).toEqual(new Set(['slow']));
    redis.thaw();
    await expect.poll(() => faultOf(node.sessions.load('s1'))).toBe('none');
  });

  test('that has died is away at once, and its nodes come back with it', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const [a, b] = [await start(names), await start(names)];
    await a.sessions.create(session('s1'));
    await a.sessions.update('s1', 'logLevel', '"info"');
    const record = await b.sessions.load('s1');
    for (const { mailbox } of [a, b]) await mailbox.join('s1');
    await redis.kill();
    const faults = await Promise.all(everything(a).map(faultOf));
    expect(new Set(faults)).toEqual(new Set(['away']));
    await redis.start();
    for (const { notices } of [a, b]) {
      await expect.poll(() => notices).toContainEqual({ kind: 'node.lapsed' });
    }
    // All is lost, and what is lost is not taken for deleted.
    const report = await b.sessions.touch([{ id: 's1', version: 2 }]);
    expect(report).toEqual({ gone: [], changed: [], lost: ['s1'] });
    if (record) await b.sessions.restore(record);
    expect(await a.sessions.load('s1')).toEqual(record);
    // Who has replicas is known again, and letters arrive.
    const letter: Letter = { kind: 'updated', session: 's1', version: 2, slot: 'initialized' };
    await a.mailbox.broadcast(letter);
    expect(b.letters).toEqual([letter]);
    // What is gone now has been deleted.
    await a.sessions.remove('s1');
    expect((await b.sessions.touch([{ id: 's1', version: 2 }])).gone).toEqual(['s1']);
  });

  test('that is full takes nothing more, answers what it has, and says so', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const node = await start(names);
    await node.sessions.create(session('s1'));
    const client = await createClient({ url: redis.url }).connect();
    try {
      await client.configSet({ 'maxmemory-policy': 'noeviction', maxmemory: '1' });
      const stream = streamName(node.node, 1);
      const event = { stream, number: 1, text: 'x'.repeat(1000) };
      expect(await faultOf(node.events.append('s1', event))).toBe('full');
      expect(await faultOf(node.sessions.create(session('s2')))).toBe('full');
      expect(await faultOf(node.sessions.update('s1', 'logLevel', '"info"'))).toBe('full');
      expect(await node.sessions.load('s1')).toMatchObject({ id: 's1', version: 1 });
      expect(await node.sessions.load('s2')).toBeUndefined();
      // Nodes stay alive, and sessions in use.
      const held = [{ id: 's1', version: 1 }];
      expect(await node.sessions.touch(held)).toEqual({ gone: [], changed: [], lost: [] });
      await client.del(`${names.prefix}{node:${node.node}}:alive`);
      await expect.poll(() => node.notices).toContainEqual({ kind: 'node.lapsed' });
      expect(await node.sessions.remove('s1')).toBe(true);
    } finally {
      await client.configSet('maxmemory', '0');
      client.destroy();
    }
    expect(await faultOf(node.sessions.create(session('s2')))).toBe('none');
  });

  test('that gives no right to a command says which, and lets all others be asked for', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    const client = await createClient({ url: redis.url }).connect();
    try {
      await client.sendCommand(['ACL', 'SETUSER', 'default', '-hgetall']);
      const refused = node.sessions.load('s1');
      expect(await faultOf(refused)).toBe('refused');
      await expect(refused).rejects.toThrow('NOPERM');
      expect(await faultOf(node.sessions.create(session('s1')))).toBe('none');
    } finally {
      await client.sendCommand(['ACL', 'SETUSER', 'default', '+hgetall']);
      client.destroy();
    }
  });

  test('whose scripts were flushed gets them again', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    const client = await createClient({ url: redis.url }).connect();
    await client.scriptFlush();
    client.destroy();
    expect(await node.sessions.create(session('s1'))).toEqual({ kind: 'created', evicted: [] });
  });

  test('gets no more than it is allowed to be asked at once', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix(), maxCommands: 20 });
    const faults = await Promise.all(
      Array.from({ length: 50 }, () => faultOf(node.sessions.load('s1'))),
    );
    expect(new Set(faults)).toEqual(new Set(['none', 'busy']));
    expect(await faultOf(node.sessions.load('s1'))).toBe('none');
  });
});

describe('a node that shares a Redis', () => {
  test('is told that a letter was not heard if the other one lives and does not listen', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const a = await start({ ...names, letterTimeoutMs: 300 });
    const client = await createClient({ url: redis.url }).connect();
    await client.set(`${names.prefix}{node:hung}:alive`, '1', { PX: 60_000 });
    const letter: Letter = { kind: 'answer', session: 's1', text: '1' };
    expect(await faultOf(a.mailbox.send('hung', letter))).toBe('slow');
    await client.set(`${names.prefix}{node:hung}:alive`, '1', { PX: 100 });
    await expect.poll(() => sent(a, 'hung', letter)).toEqual({ kind: 'gone' });
    await client.del(`${names.prefix}{node:hung}:inbox`);
    client.destroy();
  });

  test('gets the letters that came while its connection was broken', async (context) => {
    needsRedis(context);
    const names = {
      prefix: prefix(),
      commandTimeoutMs: 2000,
      leaseMs: 6000,
      letterTimeoutMs: 2000,
    };
    const [a, b] = [await start(names), await start(names)];
    const client = await createClient({ url: redis.url }).connect();
    await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    client.destroy();
    const letter: Letter = { kind: 'answer', session: 's1', text: '1' };
    await expect.poll(() => sent(a, b.node, letter)).toEqual({ kind: 'received' });
    expect(b.letters).toContainEqual(letter);
  });

  test('hears that it was taken for dead, and lives again', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const [a, b] = [await start(names), await start(names)];
    await b.mailbox.join('s1');
    const client = await createClient({ url: redis.url }).connect();
    await client.del([`${names.prefix}{node:${b.node}}:alive`, `${names.prefix}{s1}:nodes`]);
    client.destroy();
    await expect.poll(() => b.notices).toContainEqual({ kind: 'node.lapsed' });
    await a.mailbox.broadcast({ kind: 'updated', session: 's1', version: 2, slot: 'initialized' });
    expect(b.letters).toHaveLength(1);
  });

  test('is told that Redis is away while it follows, once, and follows on', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix(), commandTimeoutMs: 1000 };
    const [a, b] = [await start(names), await start(names)];
    const stream = streamName(a.node, 1);
    await a.events.open('s1', stream, [1]);
    const told: Followed[] = [];
    b.events.follow('s1', { stream, number: 0 }, (followed) => void told.push(followed));
    redis.freeze();
    await expect.poll(() => told.map(({ kind }) => kind)).toEqual(['unavailable']);
    redis.thaw();
    await expect
      .poll(() => faultOf(a.events.append('s1', { stream, number: 1, text: '1' })))
      .toBe('none');
    await a.events.end('s1', { stream, number: 1 });
    await expect.poll(() => told.at(-1)).toEqual({ kind: 'ended' });
    expect(told.filter(({ kind }) => kind === 'unavailable')).toHaveLength(1);
  });

  test('closes in bounded time while Redis does not answer', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    redis.freeze();
    await node.close();
    expect(await faultOf(node.sessions.load('s1'))).toBe('closed');
  });
});
