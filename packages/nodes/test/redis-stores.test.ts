/** Redis stores: keys in a real Redis, and replies that only a cluster gives. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { StoreUnavailable, newNodeName } from '../../http/src/nodes/stores.ts';
import type { SessionRecord } from '../../http/src/nodes/stores.ts';
import { RedisConnection } from '../src/connection.ts';
import type { RedisClientLike } from '../src/connection.ts';
import { directoryScripts } from '../src/redis-directory.ts';
import { redisStores, redisTaskStore } from '../src/redis.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { StoreProxy } from '../../../test/tooling/store-proxy.ts';
import { leaseRequest } from './redis-nodes.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(() => redis?.stop());

async function start(options: RedisStoresOptions = {}) {
  const prefix = options.prefix ?? `${randomUUID()}:`;
  const stores = await redisStores({
    url: redis.url,
    commandTimeoutMs: 20_000,
    ...options,
    prefix,
  });
  onTestFinished(() => stores.close());
  const client = await createClient({ url: redis.url }).connect();
  onTestFinished(() => client.destroy());
  const name = newNodeName();
  return { ...stores, prefix, client, name };
}

const record = (owner: string, revision = 1): SessionRecord => ({
  ...{ id: 's1', principal: 'anna', owner, fence: 1, revision },
  facts: { initialize: `${revision}` },
});

describe('the Redis directory', () => {
  beforeEach(needsRedis);

  test('reports its data as old as its process if Redis was empty', async () => {
    const { directory, client, prefix, name, leaseMs } = await start();
    const key = `${prefix}{leases}:store`;
    // Redis reports its uptime in seconds.
    await expect.poll(() => client.info('server')).toMatch(/uptime_in_seconds:[1-9]/);
    const first = await directory.lease(name, 'new', leaseRequest);
    expect(first.store.ageMs).toBeGreaterThanOrEqual(1000);
    expect(await client.pTTL(key)).toBeGreaterThan(0);
    expect(first.store.sinceMs + first.store.ageMs).toBe(first.untilMs - leaseMs);
    const second = await directory.lease(name, 'prolong', leaseRequest);
    const found = await directory.find('s1');
    expect([second.store.sinceMs, found.store.sinceMs]).toEqual(
      Array.from({ length: 2 }, () => first.store.sinceMs),
    );
    // Data of an earlier process, which may have lost writes.
    await client.hSet(key, 'name', 'another');
    expect((await directory.find('s1')).store.ageMs).toBe(0);
    expect((await directory.lease(name, 'prolong', leaseRequest)).store.ageMs).toBe(0);
  });

  test('assigns a claim a higher fence than ever before, also after data loss', async () => {
    const { directory, name } = await start();
    const { untilMs, store } = await directory.lease(name, 'new', leaseRequest);
    await directory.put(record(name), untilMs);
    const claimed = await directory.claim('s1', name, { fence: 1, store: store.name });
    expect(claimed?.fence).toBeGreaterThan(store.sinceMs);
    await directory.put({ ...record(name), fence: untilMs + 60_000 }, untilMs);
    const read = { fence: untilMs + 60_000, store: store.name };
    const next = await directory.claim('s1', name, read);
    expect(next?.fence).toBe(untilMs + 60_001);
  });

  test('keeps the latest record, in whatever order records arrive', async () => {
    const { directory, name } = await start();
    const { untilMs, store } = await directory.lease(name, 'new', leaseRequest);
    expect(await directory.put(record(name, 4), untilMs)).toBe(true);
    expect(await directory.put(record(name, 3), untilMs)).toBe(true);
    const claimed = await directory.claim('s1', name, { fence: 1, store: store.name });
    expect(claimed).toMatchObject({ revision: 4, facts: { initialize: '4' } });
    expect(await directory.put(record(name, 5), 1)).toBe(false);
  });
});

/** A cluster whose masters may disagree about their data, with one session under any id. */
function clusterOf(fields: readonly (string | null)[], names: { leases: string; record: string }) {
  const [, look, nameAt] = directoryScripts;
  return {
    isOpen: true,
    connect: () => Promise.resolve(),
    duplicate: () => clusterOf(fields, names),
    destroy: () => {},
    on: () => {},
    subscribe: () => Promise.resolve(),
    async sendCommand([command, digest]: readonly string[]): Promise<unknown> {
      if (command === 'HMGET') return fields;
      if (digest === look?.digest) return [null, null, names.leases, '1000', '3000'];
      return digest === nameAt?.digest ? names.record : null;
    },
  };
}

describe('Redis call counts', () => {
  beforeEach(needsRedis);

  const day = 24 * 60 * 60 * 1000;

  test('are shared by all nodes per rate and return how long to wait', async () => {
    const { counts, prefix } = await start();
    const { counts: others } = await start({ prefix });
    const rates = new Map([
      ['few', { calls: 2, perMs: day }],
      ['many', { calls: 1000, perMs: day }],
    ]);
    expect(await counts?.take('anna', rates)).toBe(0);
    expect(await others?.take('anna', rates)).toBe(0);
    const wait = (await counts?.take('anna', rates)) ?? 0;
    expect(wait).toBeGreaterThan(day / 4);
    expect(wait).toBeLessThanOrEqual(day / 2);
    expect(await others?.take('bob', rates)).toBe(0);
  });

  test('expire once buckets are full, so that invented names fill no memory', async () => {
    const { counts, client, prefix } = await start();
    const rates = new Map([['many', { calls: 1000, perMs: day }]]);
    await counts?.take('anna', rates);
    const [key = ''] = await client.keys(`${prefix}count:*`);
    expect(await client.pTTL(key)).toBeGreaterThan(0);
    expect(await client.pTTL(key)).toBeLessThanOrEqual(day / 1000 + 1);
    await counts?.take('anna', rates);
    expect(await client.pTTL(key)).toBeLessThanOrEqual((2 * day) / 1000 + 1);
    expect(await client.keys(`${prefix}count:*`)).toEqual([key]);
  });
});

describe('a session lookup in a cluster', () => {
  const nothing = [null, null, null];
  const something = ['anna', 'node', '1'];
  test.each<[string, string, readonly (string | null)[], string, string | undefined]>([
    ['finds nothing if its master with the same data has none', 's1', nothing, 'one', undefined],
    ['finds it if its master has it', 's1', something, 'another', 'node'],
    ['finds nothing for an invalid id', '{s1}', something, 'another', undefined],
  ])('%s', async (_, id, fields, name, owner) => {
    const client = clusterOf(fields, { leases: 'one', record: name });
    const stores = await redisStores({ client });
    onTestFinished(() => stores.close());
    const found = await stores.directory.find(id);
    expect(found.record?.owner).toBe(owner);
    expect(found.store).toEqual({ name: 'one', sinceMs: 1000, ageMs: 2000 });
  });

  test('is retried if its master has other data than that of the leases', async () => {
    const client = clusterOf(nothing, { leases: 'one', record: 'another' });
    const stores = await redisStores({ client });
    onTestFinished(() => stores.close());
    const refused = stores.directory.find('s1');
    await expect(refused).rejects.toMatchObject({ fault: 'away', retryAfterMs: 1000 });
  });
});

describe('Redis broadcasts', () => {
  beforeEach(needsRedis);

  async function subscribed(prefix: string, more: RedisStoresOptions = {}) {
    const { broadcasts, directory, name } = await start({ prefix, ...more });
    const heard: string[] = [];
    await broadcasts.subscribe({
      received: (text) => void heard.push(text),
      missed: () => void heard.push('MISSED'),
    });
    const beat = () => directory.lease(name, 'new', leaseRequest);
    await beat();
    return { broadcasts, heard, beat };
  }

  test('are reported as missed once after a disconnect', async () => {
    const prefix = `${randomUUID()}:`;
    const proxy = await StoreProxy.to(redis.port);
    onTestFinished(() => proxy.close());
    const a = await subscribed(prefix);
    const b = await subscribed(prefix, { url: proxy.url });
    await a.broadcasts.publish('one');
    await expect.poll(() => b.heard).toEqual(['one']);
    proxy.cut();
    await a.broadcasts.publish('two');
    await expect.poll(() => a.heard).toEqual(['one', 'two']);
    proxy.heal();
    // Recent broadcasts may be on their way, so they are checked at the next renewal.
    const beat = () => b.beat().then(String, String);
    await expect
      .poll(async () => {
        await beat();
        return b.heard;
      })
      .toEqual(['one', 'MISSED']);
    await expect
      .poll(async () => {
        await a.broadcasts.publish('three');
        return b.heard.at(-1);
      })
      .toBe('three');
    for (let n = 0; n < 3; n++) {
      await a.beat();
      await b.beat();
    }
    expect(b.heard.filter((text) => text === 'MISSED')).toHaveLength(1);
    expect(a.heard).not.toContain('MISSED');
  });

  test('are reported as missed by nodes that did not receive one, and by none otherwise', async () => {
    const prefix = `${randomUUID()}:`;
    const { broadcasts, heard, beat } = await subscribed(prefix);
    for (let n = 0; n < 3; n++) await beat();
    expect(heard).toEqual([]);
    // A broadcast that was counted but not received.
    await redis.ask('INCR', `${prefix}{leases}:broadcasts`);
    await broadcasts.publish('next');
    await expect.poll(() => heard).toEqual(['MISSED', 'next']);
  });

  test('pass through a full Redis', async () => {
    const { broadcasts, heard } = await subscribed(`${randomUUID()}:`);
    await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
    onTestFinished(async () => void (await redis.ask('CONFIG', 'SET', 'maxmemory', '0')));
    await broadcasts.publish('text');
    await expect.poll(() => heard).toEqual(['text']);
  });
});

test('hides a removed session, also in a full Redis', async (context) => {
  needsRedis(context);
  const { directory, name } = await start();
  const { untilMs } = await directory.lease(name, 'new', leaseRequest);
  await directory.put(record(name), untilMs);
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  try {
    expect(await directory.remove('s1', 1)).toBe(true);
  } finally {
    await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  }
  await directory.put(record(name), untilMs);
  expect(await directory.find('s1')).toMatchObject({ record: undefined, isRemoved: true });
});

test('reports the local address of the connection to Redis', async (context) => {
  needsRedis(context);
  const { localAddress, client } = await start();
  expect(await localAddress?.()).toBe('127.0.0.1');
  const ready = await redisStores({ client });
  expect(await ready.localAddress?.()).toBe('127.0.0.1');
  // Clusters and Sentinels report the client's address.
  const many: RedisClientLike = {
    isOpen: true,
    connect: () => Promise.resolve(),
    duplicate: () => many,
    destroy: () => {},
    on: () => {},
    subscribe: () => Promise.resolve(),
    sendCommand: (args: string[]) => client.sendCommand(args),
  };
  const stores = await redisStores({ client: many });
  expect(await stores.localAddress?.()).toBe('127.0.0.1');
});

test('reconnects to a primary that became a replica, as its address may have moved', async (context) => {
  needsRedis(context);
  const bounds = {
    maxCommands: 100,
    maxCommandBytes: 1000,
    socketTimeoutMs: 60_000,
    maxReconnectMs: 1000,
  };
  const connection = new RedisConnection({ url: redis.url, commandTimeoutMs: 20_000, ...bounds });
  onTestFinished(() => connection.close());
  await connection.open();
  const ask = (...command: string[]) =>
    connection.command(command).catch(({ fault }: StoreUnavailable) => fault);
  const id = await ask('CLIENT', 'ID');
  expect(id).toBeTypeOf('number');
  await redis.ask('REPLICAOF', '127.0.0.1', '1');
  onTestFinished(async () => void (await redis.ask('REPLICAOF', 'NO', 'ONE')));
  expect(await ask('SET', 'a', 'b')).toBe('away');
  await expect
    .poll(() => ask('CLIENT', 'ID'))
    .toSatisfy((now) => typeof now === 'number' && now !== id);
  await expect
    .poll(async () => String(await redis.ask('CLIENT', 'LIST')))
    .not.toMatch(new RegExp(`^id=${String(id)} `, 'm'));
  await redis.ask('REPLICAOF', 'NO', 'ONE');
  expect(await ask('SET', 'a', 'b', 'PX', '1')).toBe('OK');
});

test('rejects a prefix with braces', async () => {
  const message = 'prefix must not contain braces, got {a}:';
  await expect(redisStores({ prefix: '{a}:' })).rejects.toThrow(new RangeError(message));
});

test('makes room for new events once logged ones have expired', async (context) => {
  needsRedis(context);
  const { directory, log, client, prefix, name } = await start({ limits: { maxBytes: 1000 } });
  const { untilMs } = await directory.lease(name, 'new', leaseRequest);
  await directory.put(record(name), untilMs);
  const append = (number: number, length: number) =>
    log.append({ id: 's1', fence: 1 }, [{ stream: '1', number, text: 'x'.repeat(length) }]);
  await append(1, 800);
  await client.del(`${prefix}{s1}:log`);
  await append(2, 300);
  await append(3, 300);
  expect((await log.read('s1')).map(({ number }) => number)).toEqual([2, 3]);
});

/** Retries if a busy machine was too slow to connect. */
async function opened<S>(open: () => Promise<S>): Promise<S> {
  for (;;) {
    const opening = open().catch((error: unknown) => error);
    const stores = await opening;
    if (!(stores instanceof StoreUnavailable)) return stores as S;
  }
}

describe('an unresponsive Redis', () => {
  beforeEach(needsRedis);
  const times = { leaseMs: 100, commandTimeoutMs: 200 };
  test.each<[string, () => Promise<{ ask(): Promise<unknown>; close(): Promise<void> }>]>([
    [
      'nodes',
      async () => {
        const { directory, close } = await redisStores({ url: redis.url, ...times });
        return { ask: () => directory.find('s1'), close };
      },
    ],
    [
      'tasks',
      async () => {
        const store = await redisTaskStore({ url: redis.url, ...times });
        return { ask: () => store.read('t1'), close: () => store.close() };
      },
    ],
  ])('is reconnected after more silence than a live one shows: %s', async (_, open) => {
    const { ask, close } = await opened(open);
    onTestFinished(() => close());
    onTestFinished(() => redis.thaw());
    redis.freeze();
    const faults = async () => ask().then(String, ({ fault }: StoreUnavailable) => fault);
    await expect.poll(faults).toBe('away');
    redis.thaw();
    await expect.poll(faults).not.toMatch(/away|slow/);
  });

  test.each([
    ['nodes', redisStores],
    ['tasks', redisTaskStore],
  ])('is left after a silent start: %s', async (_, open) => {
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `redis://127.0.0.1:${port}`;
    const opening = open({ url, commandTimeoutMs: 100 });
    await expect(opening).rejects.toMatchObject({ fault: 'slow' });
    server.close();
    // No connection is left open.
    await once(server, 'close');
  });
});
