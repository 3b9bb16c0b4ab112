/** Rate limits shared through Redis. */
import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { redisStores } from '../src/redis.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(() => redis?.stop());
beforeEach((context) => needsRedis(context));

const day = 24 * 60 * 60 * 1000;
const ratesOf = (calls: number, perMs = day, name = '*') => new Map([[name, { calls, perMs }]]);

/** Call counts of two nodes, until the test ends. */
async function start() {
  const { url } = redis!;
  const prefix = `${randomUUID()}:`;
  const nodes = [await redisStores({ url, prefix }), await redisStores({ url, prefix })];
  onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.close()))));
  const [a, b] = nodes.map(({ counts }) => counts!);
  return { a: a!, b: b!, url, prefix };
}

test('counts calls of all nodes and returns how long to wait', async () => {
  const { a, b } = await start();
  const rate = ratesOf(3);
  for (const node of [a, b, a]) expect(await node.take('ada', rate)).toBe(0);
  const waits = [await b.take('ada', rate), await a.take('ada', rate)];
  for (const wait of waits) {
    expect(wait).toBeGreaterThan(day / 3 - 600_000);
    expect(wait).toBeLessThanOrEqual(day / 3);
  }
  expect(await b.take('bob', rate)).toBe(0);
});

test('counts exactly as many concurrent calls as allowed', async () => {
  const { a, b } = await start();
  const takes = Array.from({ length: 40 }, (_, n) => (n % 2 ? a : b).take('ada', ratesOf(7)));
  expect((await Promise.all(takes)).filter((wait) => wait === 0)).toHaveLength(7);
});

test('counts a call rejected by one rate for none', async () => {
  const { a, b } = await start();
  const both = new Map([...ratesOf(1, day, 'narrow'), ...ratesOf(2, day, 'wide')]);
  expect(await a.take('ada', both)).toBe(0);
  for (const node of [a, b, a]) expect(await node.take('ada', both)).toBeGreaterThan(day / 2);
  expect(await b.take('ada', ratesOf(2, day, 'wide'))).toBe(0);
  expect(await b.take('ada', ratesOf(2, day, 'wide'))).toBeGreaterThan(0);
});

test('refills buckets over time, then removes them', async () => {
  const { a, b, url, prefix } = await start();
  const rate = ratesOf(1, 500);
  expect(await a.take('ada', rate)).toBe(0);
  await expect.poll(() => b.take('ada', rate), { timeout: 60_000 }).toBe(0);
  const client = await createClient({ url }).connect();
  onTestFinished(() => client.destroy());
  const kept = () => client.keys(`${prefix}count:*`);
  await expect.poll(kept, { timeout: 60_000 }).toEqual([]);
});
