/** Redis unreachable, slow, restarted or full: nothing hangs, and guarantees hold. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable, newNodeName } from '../../http/src/nodes/stores.ts';
import type { SessionRecord, StoreFault, Stores } from '../../http/src/nodes/stores.ts';
import { OwnedSession } from '../../http/src/owner/owned-session.ts';
import { Ownership } from '../../http/src/owner/ownership.ts';
import { redisStores } from '../src/redis.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { TestClock } from '../../testing/src/index.ts';
import { workFor } from '../../../test/actors/busy-loop.ts';
import { freePort } from '../../../test/tooling/free-port.ts';
import { leaseRequest } from './redis-nodes.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});

interface Node extends Stores {
  readonly name: string;
  readonly texts: string[];
}

const nodes = new Set<Stores>();
afterEach(async () => {
  redis?.thaw();
  await Promise.all([...nodes].map((node) => node.close()));
  nodes.clear();
});

/** Short timeouts for tests that wait for them. */
const impatient = { leaseMs: 3000, commandTimeoutMs: 1000 };

/** A start may time out on a busy machine, so it is retried. */
async function startImpatient(): Promise<Node> {
  for (;;) {
    try {
      return await start({ prefix: prefix(), ...impatient });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}

async function start(options: Partial<RedisStoresOptions> = {}): Promise<Node> {
  const stores = await redisStores({
    url: redis.url,
    leaseMs: 3000,
    commandTimeoutMs: 5000,
    ...options,
  });
  nodes.add(stores);
  const name = newNodeName();
  const texts: string[] = [];
  await stores.broadcasts.subscribe({
    received: (text) => void texts.push(text),
    missed: () => {},
  });
  await stores.directory.lease(name, 'new', leaseRequest);
  return { ...stores, name, texts };
}

const record = (owner: string, revision = 1): SessionRecord => ({
  id: 's1',
  principal: 'anna',
  owner,
  fence: 1,
  revision,
  facts: { initialize: '{}' },
});
const prefix = (): string => `${randomUUID()}:`;

const connected = () => createClient({ url: redis.url }).connect();

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

/** Calls every store method. */
function everything({ directory, log, broadcasts, name }: Node): Promise<unknown>[] {
  const at = { id: 's1', fence: 1, revision: 1 };
  return [
    directory.lease(name, 'prolong', leaseRequest),
    directory.put(record(name), Infinity),
    directory.find('s1'),
    directory.write(at, { slot: 'logLevel', text: '"info"' }),
    directory.claim('s1', name, { fence: 1, store: '' }),
    directory.remove('s1', 1),
    log.append(at, [{ stream: '1', number: 1, text: '1' }]),
    log.read('s1'),
    directory.node(name),
    directory.rememberRemoved(['s2']),
    directory.secret('secret'),
    broadcasts.publish('text'),
  ];
}

describe('a faulty Redis', () => {
  test('is reported at start if it is unreachable', async (context) => {
    needsRedis(context);
    expect(await faultOf(redisStores({ url: `redis://127.0.0.1:${await freePort()}` }))).toBe(
      'away',
    );
  });

  test('is not called slow if this process was busy', async (context) => {
    needsRedis(context);
    const node = await startImpatient();
    const faults = everything(node).map(faultOf);
    // The commands have been written by then.
    await setImmediate();
    workFor(1200);
    expect(new Set(await Promise.all(faults))).toEqual(new Set(['none']));
  });

  test('is not called away if this process missed the connection', async (context) => {
    needsRedis(context);
    const made = redisStores({ url: redis.url, prefix: prefix(), commandTimeoutMs: 1000 });
    const fault = faultOf(made);
    // The connection has been started but not established by then.
    await new Promise(process.nextTick);
    workFor(1200);
    expect(await fault).toBe('none');
    nodes.add(await made);
  });

  test('delays nothing while unresponsive, and is used again when it answers', async (context) => {
    needsRedis(context);
    const node = await startImpatient();
    redis.freeze();
    const faults = await Promise.all(everything(node).map(faultOf));
    expect(new Set(faults)).toEqual(new Set(['slow']));
    // Rejected at once instead of queueing behind the others.
    const later = everything(node).map(faultOf);
    expect(new Set(await Promise.all(later))).toEqual(new Set(['slow']));
    redis.thaw();
    await expect.poll(() => faultOf(node.directory.find('s1'))).toBe('none');
  });

  test('is away at once after it died, and has other data when it returns', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const [a, b] = [await start(names), await start(names)];
    const { untilMs } = await a.directory.lease(a.name, 'prolong', leaseRequest);
    expect(await a.directory.put(record(a.name), untilMs)).toBe(true);
    const before = await b.directory.find('s1');
    await redis.kill();
    const faults = await Promise.all(everything(a).map(faultOf));
    expect(new Set(faults)).toEqual(new Set(['away']));
    await redis.start();
    for (const { directory } of [a, b]) {
      await expect.poll(() => faultOf(directory.find('s1'))).toBe('none');
    }
    const after = await b.directory.find('s1');
    expect(after.record).toBeUndefined();
    expect(after.store.name).not.toBe(before.store.name);
    // A fence read from the old data cannot claim.
    const { isHeld, store } = await a.directory.lease(a.name, 'prolong', leaseRequest);
    expect(isHeld).toBe(false);
    const reviveUntilMs = store.sinceMs + 60_000;
    const revived = await a.directory.lease(a.name, { reviveUntilMs }, leaseRequest);
    expect(revived.isHeld).toBe(true);
    expect(await a.directory.put(record(a.name), revived.untilMs)).toBe(true);
    const read = { fence: 1, store: before.store.name };
    expect(await b.directory.claim('s1', b.name, read)).toBeUndefined();
    // The subscription was restored.
    await expect
      .poll(async () => {
        await faultOf(b.broadcasts.publish('text'));
        return a.texts;
      })
      .toContain('text');
  });

  test('rejects writes while full, serves reads and says so', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    await node.directory.put(record(node.name), Infinity);
    const client = await connected();
    try {
      await client.configSet({ 'maxmemory-policy': 'noeviction', maxmemory: '1' });
      const at = { id: 's1', fence: 1, revision: 2 };
      const event = { stream: '1', number: 1, text: 'x'.repeat(1000) };
      expect(await faultOf(node.log.append(at, [event]))).toBe('full');
      expect(await faultOf(node.directory.put({ ...record(node.name), id: 's2' }, Infinity))).toBe(
        'full',
      );
      expect((await node.directory.find('s1')).record).toMatchObject({ owner: node.name });
      expect((await node.directory.find('s2')).record).toBeUndefined();
      // Leases and sessions are still renewed.
      expect(await node.directory.lease(node.name, 'prolong', leaseRequest)).toMatchObject({
        isHeld: true,
      });
      expect(await node.directory.write({ ...at, revision: 1 })).toBe('written');
      await node.directory.remove('s1', 1);
    } finally {
      await client.configSet('maxmemory', '0');
      client.destroy();
    }
    expect(await faultOf(node.directory.put(record(node.name), Infinity))).toBe('none');
  });

  test('names the command it does not permit and serves all others', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    const client = await connected();
    try {
      await client.sendCommand(['ACL', 'SETUSER', 'default', '-hmget']);
      const refused = node.directory.find('s1');
      expect(await faultOf(refused)).toBe('refused');
      await expect(refused).rejects.toThrow('NOPERM');
      expect(await faultOf(node.log.read('s1'))).toBe('none');
    } finally {
      await client.sendCommand(['ACL', 'SETUSER', 'default', '+hmget']);
      client.destroy();
    }
  });

  test('gets flushed scripts again', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    const client = await connected();
    await client.scriptFlush();
    client.destroy();
    expect(await node.directory.put(record(node.name), Infinity)).toBe(true);
  });

  test('returns the owner of a session, or none, to readers and claimers', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix() };
    const [a, b] = [await start(names), await start(names)];
    const sessions = [record(a.name), { ...record(a.name), id: 's2', principal: undefined }];
    for (const each of sessions) {
      expect(await a.directory.put(each, Infinity)).toBe(true);
      const found = await b.directory.find(each.id);
      expect(found.record).toEqual({ principal: each.principal, owner: a.name, fence: 1 });
      await a.directory.leave(a.name);
      const read = { fence: 1, store: found.store.name };
      const claimed = await b.directory.claim(each.id, b.name, read);
      expect(claimed).toEqual({ ...each, owner: b.name, fence: expect.any(Number) as number });
      const { record: now } = await b.directory.find(each.id);
      expect(now?.principal).toBe(each.principal);
    }
  });

  test('gets at most the allowed number of commands at once', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix(), maxCommands: 20 });
    const faults = await Promise.all(
      Array.from({ length: 50 }, () => faultOf(node.log.read('s1'))),
    );
    expect(new Set(faults)).toEqual(new Set(['none', 'busy']));
    expect(await faultOf(node.log.read('s1'))).toBe('none');
  });
});

describe('a node that shares a Redis', () => {
  test('renews all sessions in use despite a small command limit', async (context) => {
    needsRedis(context);
    const clock = new TestClock();
    const stores = await redisStores({
      ...{ url: redis.url, prefix: prefix(), maxCommands: 40, leaseMs: 600_000 },
      ...{ commandTimeoutMs: 20_000, limits: { idleMs: 600_000 } },
    });
    nodes.add(stores);
    const node = new Ownership(stores, {
      ...{ clock, idleMs: 600_000, report: () => {} },
      ...{
        onJoined: () => {},
        onRemoved: () => {},
        onStoreChanged: async () => {},
        onRenewed: () => {},
      },
      address: async () => leaseRequest.address,
    });
    await node.ready();
    const copy = { loggedEvents: [], abandon: () => {} };
    const sessions = Array.from({ length: 100 }, (_, n) => {
      const who = { id: `many-${n}`, principal: undefined };
      return new OwnedSession(who, copy, node, clock.now());
    });
    for (const session of sessions) await session.begin([{ slot: 'initialize', text: '{}' }]);
    const client = await connected();
    const keys = (await client.keys('*{many-*}:record')).toSorted();
    for (const key of keys) await client.pExpire(key, 300_000);
    for (const session of sessions) session.touch(clock.now());
    const short = async () => {
      const times = await Promise.all(keys.map((key) => client.pTTL(key)));
      return times.filter((ms) => ms <= 300_000).length;
    };
    await expect.poll(short).toBe(0);
    expect(keys).toHaveLength(100);
    // Rejected writes are repeated with the next renewal.
    for (const key of keys) await client.pExpire(key, 300_000);
    redis.freeze();
    for (const session of sessions) session.touch(clock.now());
    redis.thaw();
    await expect
      .poll(async () => {
        clock.increment(150_000);
        return short();
      })
      .toBe(0);
    client.destroy();
  });

  test('uses a given client and leaves it open', async (context) => {
    needsRedis(context);
    const client = await connected();
    const names = { prefix: prefix(), client };
    const stores = await redisStores(names);
    const name = newNodeName();
    const texts: string[] = [];
    const received = (text: string) => void texts.push(text);
    await stores.broadcasts.subscribe({ received, missed: () => {} });
    await stores.directory.lease(name, 'new', leaseRequest);
    expect(await stores.directory.put(record(name), Infinity)).toBe(true);
    expect((await stores.directory.find('s1')).address).toEqual(leaseRequest.address);
    await stores.broadcasts.publish('text');
    await expect.poll(() => texts).toEqual(['text']);
    await stores.close();
    expect(await client.ping()).toBe('PONG');
    client.destroy();
  });

  test('restores the full time to live of everything in use', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix(), leaseMs: 600_000 };
    const node = await start({ ...names, limits: { idleMs: 600_000, maxAgeMs: 600_000 } });
    const { directory, log, broadcasts, name } = node;
    const at = { id: 's1', fence: 1, revision: 1 };
    expect(await directory.put(record(name), Infinity)).toBe(true);
    await log.append(at, [{ stream: '1', number: 1, text: '1' }]);
    await broadcasts.publish('text');
    await directory.secret('secret');
    await directory.rememberRemoved(['s2']);
    const keyOf = {
      lease: `{leases}:${name}`,
      store: '{leases}:store',
      nodes: '{leases}:nodes',
      broadcasts: '{leases}:broadcasts',
      secret: '{leases}:secret',
      removed: '{leases}:removed',
      session: '{s1}:record',
      log: '{s1}:log',
    };
    const client = await connected();
    /** Keys whose time to live an operation extends. */
    const keptBy = async (use: () => Promise<unknown>): Promise<readonly string[]> => {
      const keys = Object.entries(keyOf).map(([what, key]) => [what, names.prefix + key] as const);
      for (const [, key] of keys) expect(await client.pExpire(key, 300_000)).toBe(1);
      await use();
      const times = await Promise.all(
        keys.map(async ([what, key]) => [what, await client.pTTL(key)] as const),
      );
      return times.flatMap(([what, ms]) => (ms > 300_000 ? [what] : []));
    };
    try {
      const leases = ['lease', 'store', 'nodes', 'broadcasts', 'secret'];
      expect(await keptBy(() => directory.lease(name, 'prolong', leaseRequest))).toEqual(leases);
      expect(await keptBy(() => directory.lease(name, 'new', leaseRequest))).toEqual(leases);
      expect(await keptBy(() => broadcasts.publish('text'))).toEqual(['broadcasts']);
      expect(await keptBy(() => directory.rememberRemoved(['s3']))).toEqual(['removed']);
      expect(await keptBy(() => directory.write(at))).toEqual(['session']);
      const change = { slot: 'logLevel', text: '"info"' };
      const changed = { ...at, revision: 2 };
      expect(await keptBy(() => directory.write(changed, change))).toEqual(['session']);
      expect(await keptBy(() => directory.put(record(name, 3), Infinity))).toEqual(['session']);
      const { store } = await directory.find('s1');
      const read = { fence: 1, store: store.name };
      expect(await keptBy(() => log.append(at, []))).toEqual(['log']);
      expect(await keptBy(() => directory.claim('s1', name, read))).toEqual(['session']);
      // Reading does not extend it.
      expect(await keptBy(() => directory.find('s1'))).toEqual([]);
      expect(await keptBy(() => log.read('s1'))).toEqual([]);
    } finally {
      client.destroy();
    }
  });

  test('forgets nodes that no longer renew', async (context) => {
    needsRedis(context);
    const names = { prefix: prefix(), leaseMs: 600_000 };
    const node = await start(names);
    const client = await connected();
    const key = `${names.prefix}{leases}:nodes`;
    await client.zAdd(key, { score: Date.now() - 1_200_000, value: 'gone' });
    await node.directory.lease(node.name, 'prolong', leaseRequest);
    expect(await client.zRange(key, 0, -1)).toEqual([node.name]);
    client.destroy();
  });

  test('closes in time while Redis does not answer', async (context) => {
    needsRedis(context);
    const node = await start({ prefix: prefix() });
    redis.freeze();
    await node.close();
    expect(await faultOf(node.directory.find('s1'))).toBe('closed');
  });
});
