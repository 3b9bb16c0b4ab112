/** The contract of tasks in a real Redis, alone and as a cluster, and what is its own: keys, rights, and failovers. */
import { createClient, createCluster } from 'redis';
import type { TaskStore } from 'mcp-actors';
import { taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { redisStores, redisTaskStore } from '../../nodes/src/redis.ts';
import type { RedisTaskStoreOptions } from '../../nodes/src/redis.ts';
import { RedisClusterServers } from '../../nodes/test/redis-cluster.ts';
import { RedisServer, hasRedis, needsRedis } from '../../nodes/test/redis-server.ts';

/** As docs/durability.md has them. */
const rights = '~mcp:* +@read +@write +@scripting +@connection +time';

let redis: RedisServer;
beforeAll(async () => {
  if (!hasRedis()) return;
  redis = await RedisServer.start({
    configuration: `user nodes on >secret ${rights}`,
  });
});
afterAll(() => redis?.stop());
beforeEach(needsRedis);

/** A user who may do no more than is needed. */
const client = { username: 'nodes', password: 'secret' };

let worlds = 0;

/** Everything is that much older: the server's clock is nobody's to set. Runs where the keys are. */
const older = `
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. 'task:*')) do
  if redis.call('HGET', key, 'dueAt') then redis.call('HINCRBYFLOAT', key, 'dueAt', -ARGV[2]) end
  redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[2])
end
local function earlier(key)
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    redis.call('ZINCRBY', key, -ARGV[2], member)
  end
end
earlier(ARGV[1] .. '{tasks}:owners')
earlier(ARGV[1] .. '{tasks}:reserved')
earlier(ARGV[1] .. '{tasks}:kept')
for _, kind in ipairs({'open', 'due', 'share', 'room'}) do
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '{tasks}:' .. kind .. ':*')) do earlier(key) end
end
`;

async function openWorld(): Promise<TaskStoreWorld> {
  const prefix = `mcp:${++worlds}:`;
  const stores: TaskStore[] = [];
  return {
    async start() {
      const store = await redisTaskStore({ url: redis.url, client, prefix, leaseMs: 5000 });
      stores.push(store);
      return store;
    },
    async elapse(ms) {
      await redis.ask('EVAL', older, '0', prefix, String(ms));
    },
    async close() {
      for (const store of stores) await store.close();
      const keys = (await redis.ask('KEYS', `${prefix}*`)) as readonly string[];
      const ends = await Promise.all(keys.map((key) => redis.ask('PTTL', key)));
      const forever = keys.filter((_, n) => ends[n] === -1);
      if (forever.length > 0) throw new Error(`These never expire: ${forever.join(', ')}`);
    },
  };
}

describe('tasks in Redis', () => {
  for (const { name, check } of taskStoreContract) test(name, () => check(openWorld));
});

const task = { taskId: 't1', server: 'shop', owner: 'a', text: 'begun', ttlMs: 60_000 };

async function opened(options: RedisTaskStoreOptions = {}) {
  const store = await redisTaskStore({ url: redis.url, prefix: `mcp:${++worlds}:`, ...options });
  onTestFinished(() => store.close());
  await store.lease('a');
  return store;
}

test('removes ended tasks from the indexes, and deletes expired ones', async () => {
  const prefix = `mcp:${++worlds}:`;
  const store = await opened({ prefix });
  const [ended, over] = [await store.create(task), await store.create({ ...task, taskId: 't2' })];
  await store.create({ ...task, taskId: 't3' });
  await store.append(ended, { steps: [{ key: 'k', text: 'v' }] });
  await store.append(over, { steps: [], parkForMs: 120_000 });
  await store.finish(ended, 'done');
  const leadBy = (kind: string) => redis.ask('ZRANGE', `${prefix}{tasks}:${kind}`, '0', '-1');
  expect(await leadBy('open:a')).toEqual(['"shop":t3']);
  expect(await leadBy('due:shop')).toEqual(['"shop":t2']);
  await redis.ask('EVAL', older, '0', prefix, '60001');
  await store.lease('a');
  expect(await store.finish(over, 'late')).toBe('ended');
  const keys = (await redis.ask('KEYS', `${prefix}*`)) as readonly string[];
  expect(keys.filter((key) => /task:|open:|kept|ids/.test(key))).toEqual([]);
  // What was due of it leads nowhere.
  await redis.ask('EVAL', older, '0', prefix, '60000');
  expect(await store.claim({ owner: 'a', server: 'shop', max: 9 })).toMatchObject({ tasks: [] });
  expect([await leadBy('open:a'), await leadBy('due:shop')]).toEqual([[], []]);
  expect(await leadBy('changed')).toEqual(['t1']);
  // Nor does anything of a process that has no tasks and is no more.
  await store.leave('a');
  await store.lease('b');
  await store.claim({ owner: 'b', server: 'shop', max: 9 });
  expect(await leadBy('owners')).toEqual(['b']);
});

test('keeps index entries as long as their task', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  const day = 24 * 60 * 60 * 1000;
  const claim = await a.create({ ...task, ttlMs: 30 * day });
  const lastsAMonth = async (...names: readonly string[]) => {
    const keys = names.map((name) => `${prefix}${name}`);
    const times = await Promise.all(keys.map((key) => redis.ask('PTTL', key)));
    expect(names.filter((_, n) => Number(times[n]) < 29 * day)).toEqual([]);
  };
  await lastsAMonth('task:t1', '{tasks}:owners', '{tasks}:open:a', '{tasks}:kept', '{tasks}:ids');
  await b.lease('b');
  await a.leave('a');
  expect(await b.claim({ owner: 'b', server: 'shop', max: 1 })).toMatchObject({
    tasks: [{ taskId: 't1' }],
  });
  await lastsAMonth('task:t1', '{tasks}:owners', '{tasks}:open:b', '{tasks}:kept', '{tasks}:ids');
  await b.append({ ...claim, fence: 2 }, { steps: [], parkForMs: 29.5 * day });
  await lastsAMonth('task:t1', '{tasks}:due:shop', '{tasks}:kept', '{tasks}:ids');
});

test("a claim by id takes no task of a live process, nor one's own", async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  await a.create(task);
  await b.lease('b');
  const claimBy = async (store: TaskStore, owner: string) =>
    (await store.claim({ owner, server: 'shop', max: 1, taskId: 't1' })).tasks.length;
  expect([await claimBy(b, 'b'), await claimBy(a, 'a')]).toEqual([0, 0]);
  await a.leave('a');
  expect([await claimBy(b, 'b'), await claimBy(b, 'b')]).toEqual([1, 0]);
});

test('delivers changes again after Redis has lost its counter', async () => {
  const store = await opened();
  await store.finish(await store.create(task), 'done');
  const { upTo, taskIds } = await store.changes(undefined);
  expect(taskIds).toEqual([]);
  expect((await store.changes(upTo)).taskIds).toEqual([]);
  expect((await store.changes(upTo + 1000)).taskIds).toEqual(['t1']);
});

test('claims a task whose earlier claim was interrupted', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, c] = [await opened({ prefix }), await opened({ prefix })];
  await a.create(task);
  await a.leave('a');
  const soon = String(Date.now() + 10_000);
  await redis.ask('ZADD', `${prefix}{tasks}:reserved`, soon, '"shop":t1');
  await c.lease('c');
  const claim = async () => (await c.claim({ owner: 'c', server: 'shop', max: 9 })).tasks.length;
  expect(await claim()).toBe(0);
  await redis.ask('EVAL', older, '0', prefix, '20000');
  await c.lease('c');
  expect(await claim()).toBe(1);
});

test('a task is claimable if its owner never had a lease', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  await a.create({ ...task, owner: 'nobody' });
  await b.lease('b');
  const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 9 });
  expect(tasks).toMatchObject([{ taskId: 't1' }]);
});

test.each([
  ['its owner has told of progress', { fence: 1 }, { steps: [], isAnnounced: true }],
  ['somebody has added to it', {}, { steps: [] }],
])('a task is claimable once its owner has left, also if %s', async (_, by, progress) => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  await a.create(task);
  expect(await b.append({ taskId: 't1', ...by }, progress)).toBe('written');
  await b.lease('b');
  const claim = async () => (await b.claim({ owner: 'b', server: 'shop', max: 9 })).tasks.length;
  expect(await claim()).toBe(0);
  await a.leave('a');
  expect(await claim()).toBe(1);
});

test('a claim respects its maximum, and takes no tasks of other servers', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  for (const taskId of ['t1', 't2', 't3', 't4']) await a.create({ ...task, taskId });
  await b.lease('b');
  await b.create({ ...task, taskId: 't5', owner: 'b' });
  await a.leave('a');
  const countBy = async (server: string, more: object) =>
    (await b.claim({ owner: 'b', server, max: 1, ...more })).tasks.length;
  expect(await countBy('bar', { max: 9 })).toBe(0);
  expect(await countBy('shop', {})).toBe(1);
  expect(await countBy('shop', { taskId: 't4' })).toBe(1);
  expect(await countBy('shop', { held: [] })).toBe(1);
  expect(await countBy('shop', { max: 9 })).toBe(2);
});

test('changes list tasks claimed by id, and not parked ones', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  await a.create(task);
  const claim = await a.create({ ...task, taskId: 't2' });
  await a.append(claim, { steps: [], parkForMs: 60_000 });
  expect((await b.changes(0)).taskIds).toEqual([]);
  await a.leave('a');
  await b.claim({ owner: 'b', server: 'shop', max: 1, taskId: 't1' });
  const { taskIds, upTo } = await a.changes(0);
  expect(taskIds).toEqual(['t1']);
  // Nor would it know of what it has claimed once more.
  await b.claim({ owner: 'b', server: 'shop', max: 1, held: [] });
  expect((await a.changes(upTo)).taskIds).toEqual(['t1']);
});

test('a parked task indexed too early is claimed when it is due', async () => {
  const prefix = `mcp:${++worlds}:`;
  const store = await opened({ prefix });
  const claimed = await store.create({ ...task, ttlMs: 600_000 });
  await store.append(claimed, { steps: [], parkForMs: 60_000 });
  await redis.ask('ZADD', `${prefix}{tasks}:due:shop`, '0', '"shop":t1');
  const claim = () => store.claim({ owner: 'a', server: 'shop', max: 9 });
  expect((await claim()).tasks).toEqual([]);
  const { tasks, nextInMs = 0 } = await claim();
  expect([tasks, nextInMs > 0 && nextInMs <= 60_000]).toEqual([[], true]);
  await redis.ask('EVAL', older, '0', prefix, '60000');
  expect((await claim()).tasks).toMatchObject([{ taskId: 't1' }]);
});

test('a list skips deleted tasks and continues after them', async () => {
  const prefix = `mcp:${++worlds}:`;
  const store = await opened({ prefix });
  for (const taskId of ['t1', 't2', 't3']) await store.create({ ...task, taskId });
  await redis.ask('DEL', `${prefix}task:t1`, `${prefix}task:t2`);
  const listed = await store.list({ after: undefined, max: 2 });
  expect(listed.map(({ record }) => record.taskId)).toEqual(['t3']);
});

/** A client that loses the answers to some of its commands, each of which Redis has carried out. */
async function losing(isLost: (command: readonly string[]) => boolean) {
  const ready = await createClient({ url: redis.url, ...client }).connect();
  onTestFinished(() => ready.destroy());
  const send = ready.sendCommand.bind(ready);
  const sendCommand = async (command: string[]) => {
    const reply = await send(command);
    if (isLost(command)) throw new Error('Socket closed');
    return reply;
  };
  return Object.assign(ready, { sendCommand: sendCommand as typeof ready.sendCommand });
}

test('claims a due task although its process missed the reply to the parking', async () => {
  const prefix = `mcp:${++worlds}:`;
  let isLast = false;
  // From the write to the task on, nothing comes back.
  const dying = await losing(([, , , key = '']) => (isLast ||= key === `${prefix}task:t1`));
  const [a, b] = [await opened({ prefix, client: dying }), await opened({ prefix })];
  const claim = await b.create({ ...task, ttlMs: 600_000 });
  const parked = a.append(claim, { steps: [], parkForMs: 60_000 });
  await expect(parked).rejects.toMatchObject({ fault: 'away' });
  await redis.ask('EVAL', older, '0', prefix, '60000');
  // Whose it was lives, so that nothing but its time leads to it.
  for (const owner of ['a', 'b']) await b.lease(owner);
  const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 9 });
  expect(tasks).toMatchObject([{ taskId: 't1' }]);
});

test('an expired node keeps its index entries, and others resume its tasks after its end', async () => {
  const prefix = `mcp:${++worlds}:`;
  const [a, b] = [await opened({ prefix }), await opened({ prefix })];
  for (const taskId of ['t1', 't2', 't3']) await a.create({ ...task, taskId, ttlMs: 600_000 });
  await redis.ask('EVAL', older, '0', prefix, String(a.leaseMs));
  expect((await a.claim({ owner: 'a', server: 'shop', max: 9 })).tasks).toEqual([]);
  await b.lease('b');
  const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 9 });
  expect(tasks.map(({ taskId }) => taskId).toSorted()).toEqual(['t1', 't2', 't3']);
});

const answer = { steps: [{ key: 'answer:q1', text: 'yes' }] };

test.each([
  ['wakes a parked task', true],
  ['is told to the owner', false],
])('an answer %s, although its process died right after the write', async (_, isParked) => {
  const prefix = `mcp:${++worlds}:`;
  let isLast = false;
  const dying = await losing(([, , , key = '']) => (isLast ||= key === `${prefix}task:t1`));
  const [a, b] = [await opened({ prefix, client: dying }), await opened({ prefix })];
  const claim = await b.create({ ...task, ttlMs: 600_000 });
  if (isParked) await b.append(claim, { steps: [], parkForMs: 300_000 });
  const { upTo } = await b.changes(undefined);
  isLast = false;
  await expect(a.append({ taskId: 't1' }, answer)).rejects.toMatchObject({ fault: 'away' });
  expect((await b.changes(upTo)).taskIds).toEqual(['t1']);
  const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 9 });
  expect(tasks).toMatchObject(isParked ? [{ taskId: 't1', steps: answer.steps }] : []);
});

test('a partly failed claim returns its tasks, and fails if it has none', async () => {
  const prefix = `mcp:${++worlds}:`;
  const lost = new Set([`${prefix}task:t1`]);
  const half = await losing(([, , , key = '']) => lost.has(key));
  const [a, b] = [await opened({ prefix }), await opened({ prefix, client: half })];
  await a.create(task);
  await a.create({ ...task, taskId: 't2' });
  await a.leave('a');
  await b.lease('b');
  const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 2 });
  expect(tasks.map(({ taskId }) => taskId)).toEqual(['t2']);
  lost.add(`${prefix}task:t3`);
  await a.create({ ...task, taskId: 't3' });
  const none = b.claim({ owner: 'b', server: 'shop', max: 1 });
  await expect(none).rejects.toMatchObject({ fault: 'away' });
});

test('returns any number of steps in write order', async () => {
  const store = await opened();
  // With texts as long as these Redis keeps no order of its own.
  const text = 'x'.repeat(100);
  const steps = Array.from({ length: 50 }, (_, n) => ({ key: `step ${n}`, text: `${n} ${text}` }));
  const claim = await store.create({ ...task, steps: steps.slice(0, 2) });
  await store.append(claim, { steps: steps.slice(2) });
  expect((await store.read('t1'))?.record.steps).toEqual(steps);
  await store.close();
  await expect(store.read('t1')).rejects.toMatchObject({ fault: 'closed' });
});

test.each(['leaseMs', 'commandTimeoutMs'])(
  'rejects an invalid %s by name before connecting',
  async (name) => {
    const options = { url: 'redis://127.0.0.1:1', [name]: 0 };
    const refusal = `${name} must be a positive number of milliseconds, got 0`;
    await expect(redisTaskStore(options)).rejects.toThrow(new RangeError(refusal));
    await expect(redisStores(options)).rejects.toThrow(new RangeError(refusal));
  },
);

test('accepts a connected client, and leaves it open', async () => {
  const ready = await createClient({ url: redis.url, ...client }).connect();
  onTestFinished(() => ready.destroy());
  const store = await redisTaskStore({ client: ready, prefix: `mcp:${++worlds}:` });
  await store.lease('a');
  await store.create(task);
  expect((await store.read('t1'))?.isOwned).toBe(true);
  await store.close();
  expect(ready.isReady).toBe(true);
});

test('reports an unreachable store in time, and recovers once it is back', async () => {
  const own = await RedisServer.start({ durability: 'everything' });
  onTestFinished(() => own.stop());
  const store = await opened({ url: own.url, commandTimeoutMs: 2000 });
  const claim = await store.create(task);
  await own.kill();
  await expect(store.create({ ...task, taskId: 't2' })).rejects.toMatchObject({ fault: 'away' });
  await expect(store.finish(claim, 'done')).rejects.toMatchObject({ fault: 'away' });
  await own.start();
  await expect.poll(() => store.finish(claim, 'done').catch(String)).toBe('written');
  expect((await store.read('t1'))?.record.text).toBe('done');
});

describe('tasks in a cluster', () => {
  let cluster: RedisClusterServers;
  beforeAll(async () => {
    if (hasRedis()) cluster = await RedisClusterServers.start();
  });
  afterAll(() => cluster?.stop());

  const prefix = 'mcp:cluster:';
  const clustered = async () => {
    const ready = createCluster({
      rootNodes: cluster.rootNodes,
      topologyRefreshOnReconnectionAttemptStrategy: 500,
    });
    ready.on('error', () => {});
    await ready.connect();
    onTestFinished(() => ready.destroy());
    return opened({ client: ready as never, prefix });
  };

  test('resume on an answer whose process died right after the write', async () => {
    let isLast = false;
    const ready = createCluster({ rootNodes: cluster.rootNodes });
    ready.on('error', () => {});
    await ready.connect();
    onTestFinished(() => ready.destroy());
    const send = ready.sendCommand.bind(ready);
    const sendCommand = async (...all: Parameters<typeof send>) => {
      if (isLast) throw new Error('Socket closed');
      const reply = await send(...all);
      isLast =
        all[0] !== undefined &&
        /task:(parked|owned)$/.test(String(all[0])) &&
        String(all[2][0]).startsWith('EVAL');
      return reply;
    };
    const dying = Object.assign(ready, { sendCommand });
    const a = await opened({ client: dying as never, prefix });
    const b = await clustered();
    const due = `${prefix}{tasks}:due:shop`;
    const ask = async (name: string, ...args: string[]) =>
      (await cluster.masterOf(due)).ask(name, due, ...args);
    await b.lease('b');
    for (const taskId of ['parked', 'owned']) {
      const claim = await b.create({ ...task, taskId, owner: 'b', ttlMs: 600_000 });
      if (taskId === 'parked') await b.append(claim, { steps: [], parkForMs: 300_000 });
      isLast = false;
      await expect(a.append({ taskId }, answer)).rejects.toMatchObject({ fault: 'away' });
      // The time of the process that was to wake it is over.
      const led = await ask('ZSCORE', `"shop":${taskId}`);
      expect(Number(led)).toBeLessThan(Date.now() + 60_000);
      await ask('ZADD', '0', `"shop":${taskId}`);
    }
    const { upTo } = await b.changes(undefined);
    const { tasks } = await b.claim({ owner: 'b', server: 'shop', max: 9 });
    expect(tasks).toMatchObject([{ taskId: 'parked', steps: answer.steps }]);
    expect((await b.changes(upTo)).taskIds).toContain('owned');
    for (const taskId of ['parked', 'owned']) await b.finish({ taskId }, 'done');
  });

  test('spread over all masters, and survive the death of one', async () => {
    const [a, b] = [await clustered(), await clustered()];
    const masters = await cluster.masters();
    const ids: string[] = [];
    for (const master of masters) {
      ids.push(await cluster.idAt(master, (id) => `${prefix}task:${id}`));
    }
    for (const taskId of ids) {
      const claim = await a.create({ ...task, taskId });
      await a.append(claim, { steps: [{ key: 'k', text: taskId }] });
    }
    await a.leave('a');
    await b.lease('b');
    // What is acknowledged is with the replicas before a master dies.
    for (const master of masters) await master.ask('WAIT', '1', '5000');
    const dead = await cluster.killMasterOf(`${prefix}{tasks}:owners`);
    const claimed: string[] = [];
    await expect
      .poll(async () => {
        await b.lease('b').catch(() => {});
        const records = await b
          .claim({ owner: 'b', server: 'shop', max: 10 })
          .catch(() => undefined);
        claimed.push(...(records?.tasks ?? []).map(({ taskId }) => taskId));
        return claimed.toSorted();
      })
      .toEqual(ids.toSorted());
    for (const taskId of ids) {
      expect((await b.read(taskId))?.record.steps).toEqual([{ key: 'k', text: taskId }]);
      expect(await b.finish({ taskId, fence: 2 }, 'done')).toBe('written');
    }
    await cluster.revive(dead);
  });
});
