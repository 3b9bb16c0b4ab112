/**
 * Leftovers of sessions in Redis and in nodes. `LEFTOVERS=all` plays 5,000 deleted and 2,000
 * abandoned sessions, long CI runs a twentieth of that, and ordinary runs a few without a heap
 * check.
 */
import { expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { heapBytes } from '../../client/test/live-counts.ts';
import { inLongRun } from '../../../test/tooling/long-run.ts';
import { RawSession, begin } from '../../http/test/raw-client.ts';
import { startRedisNodes, stateKeys } from './redis-nodes.ts';
import { RedisServer, needsRedis } from './redis-server.ts';

const share = process.env['LEFTOVERS'] === 'all' ? 1 : inLongRun(1 / 20, 1 / 200);

/** Waiting time after the last session, ms; longer in ordinary runs on busy machines. */
const patienceMs = share === 1 ? 20_000 : 60_000;

const say = defineTool({
  name: 'say',
  description: 'Says something before it answers, so that there is an event log',
  handler: (_, { notify }) => {
    notify('test/said', { text: 'x'.repeat(200) });
    return 'said';
  },
});

const deleted = 5000 * share;
const abandoned = 2000 * share;
const warming = Math.min(100, deleted);

/**
 * Bytes. Deletions and owners are remembered for a while. A kept session takes 16 KiB, and 1 KiB in
 * Redis, where ids of deleted ones are remembered.
 */
const slack = {
  heap: 2 * 1024 * 1024 + 600 * (deleted + abandoned),
  redis: 256 * 1024 + 200 * deleted,
};

test('leaves nothing of deleted or abandoned sessions in Redis or on the heap', async (context) => {
  needsRedis(context);
  const redis = await RedisServer.start();
  onTestFinished(() => redis.stop());
  const idleMs = 3000;
  const nodes = await startRedisNodes({
    count: 2,
    stores: () => ({
      url: redis.url,
      commandTimeoutMs: 20_000,
      limits: { idleMs, maxAgeMs: 2000 },
    }),
    server: () => createMcpServer({ name: 'leftovers', version: '1', tools: [say], stateKeys }),
    http: {
      limits: { sessionIdleTimeoutMs: idleMs, eventTtlMs: 2000 },
      report: () => {},
      session: { report: () => {} },
    },
  });
  const [a, b] = nodes as [URL, URL];

  /** Starts a session at one node and calls at both. */
  const play = async (isDeleted: boolean) => {
    const here = await begin(a);
    const there = new RawSession(b, here.headers);
    for (const session of [here, there]) {
      const said = await session.call('say');
      await said.text();
      // On a busy machine the session may have expired, or the node may time out.
      expect([200, 404, 503]).toContain(said.status);
    }
    if (isDeleted) expect([204, 404, 503]).toContain((await there.delete()).status);
  };
  /** Plays sessions, twenty at a time. */
  const playAll = async (count: number, isDeleted: boolean) => {
    let left = count;
    const lanes = Array.from({ length: 20 }, async () => {
      while (left-- > 0) await play(isDeleted);
    });
    await Promise.all(lanes);
  };
  const keys = async () => ((await redis.ask('KEYS', '*')) as readonly string[]).toSorted();
  const usedBytes = async () => {
    const memory = String(await redis.ask('INFO', 'memory'));
    return Number(/used_memory:(\d+)/.exec(memory)?.[1]);
  };
  /** Keys of nodes, which exist without sessions. */
  const ofNodes = (names: readonly string[]) =>
    names.filter((name) => !/\{(?:leases|node:)/.test(name));

  await playAll(warming, true);
  await playAll(warming, false);
  const gone = { timeout: patienceMs, interval: 250 };
  await expect.poll(async () => ofNodes(await keys()), gone).toEqual([]);
  const before = { heap: await heapBytes(), used: await usedBytes(), keys: (await keys()).length };
  await playAll(deleted, true);
  await playAll(abandoned, false);
  await expect.poll(async () => ofNodes(await keys()), gone).toEqual([]);
  const after = { heap: await heapBytes(), used: await usedBytes(), keys: (await keys()).length };
  await context.annotate(JSON.stringify({ before, after }));
  expect(after.keys).toBe(before.keys);
  expect(after.used - before.used).toBeLessThan(slack.redis);
  expect(after.heap - before.heap).toBeLessThan(slack.heap);
}, 600_000);
