/** Cost in Redis: commands per request and bytes per session. */
import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { redisStores } from '../src/redis.ts';
import { RawSession, begin, jsonOf } from '../../http/test/raw-client.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});

/** Key shared by all nodes. */
const key = Buffer.alloc(32, 1).toString('base64');

const echo = defineTool({ name: 'echo', description: 'Says it', handler: () => 'said' });

/** Endpoints with their own key prefix, whose leases are not renewed during a test. */
async function startNodes(): Promise<{ here: URL; there: URL; prefix: string }> {
  const prefix = `${randomUUID()}:`;
  const start = async () => {
    const server = createMcpServer({ name: 'node', version: '1', tools: [echo], stateKeys: [key] });
    const times = { leaseMs: 600_000, commandTimeoutMs: 30_000 };
    const stores = await redisStores({ url: redis.url, prefix, ...times });
    return serveHttp(server, { stores });
  };
  const nodes = { here: await start(), there: await start(), prefix };
  const client = await createClient({ url: redis.url }).connect();
  await expect.poll(() => client.zCard(`${prefix}{leases}:nodes`)).toBe(2);
  client.destroy();
  return nodes;
}

/** Commands sent to Redis while `body` ran. */
async function commandsOf(body: () => Promise<unknown>): Promise<{ [command: string]: number }> {
  const client = await createClient({ url: redis.url }).connect();
  try {
    await client.configResetStat();
    await body();
    const stats = await client.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_([a-z]+):calls=(\d+)/gm)];
    return Object.fromEntries(calls.map(([, name = '', count]) => [name, Number(count)]));
  } finally {
    client.destroy();
  }
}

async function call(session: RawSession, times = 1): Promise<void> {
  for (let time = 0; time < times; time++) {
    expect((await jsonOf(await session.call('echo'))).result).toBeDefined();
  }
}

test('sends no Redis commands for a request that reaches its owner', async (context) => {
  needsRedis(context);
  const { here } = await startNodes();
  const session = await begin(here);
  const lanes = Array.from({ length: 10 }, () => session);
  const asked = await commandsOf(() => Promise.all(lanes.map((lane) => call(lane, 100))));
  expect(asked).toEqual({});
});

test('sends no Redis commands for a forwarded request with a cached owner', async (context) => {
  needsRedis(context);
  const { here, there } = await startNodes();
  const session = new RawSession(there, (await begin(here)).headers);
  await call(session);
  const asked = await commandsOf(() =>
    Promise.all(Array.from({ length: 10 }, () => call(session, 50))),
  );
  expect(asked).toEqual({});
});

test('uses two commands to start a session, three to end it, and less than 1 KiB', async (context) => {
  needsRedis(context);
  const { here, prefix } = await startNodes();
  const begun = await commandsOf(() => begin(here));
  expect(begun['evalsha']).toBe(2);
  const session = await begin(here);
  await call(session);
  const client = await createClient({ url: redis.url }).connect();
  const keys = await client.keys(`${prefix}{${session.headers['mcp-session-id']}}*`);
  const bytes = await Promise.all(keys.map((name) => client.memoryUsage(name, { SAMPLES: 0 })));
  client.destroy();
  expect(keys.length).toBeGreaterThan(0);
  expect(sumOf(bytes)).toBeLessThan(1024);
  // Deletes the record, remembers the deletion and broadcasts it.
  const ended = await commandsOf(() => session.delete());
  expect(ended['evalsha']).toBe(3);
});

function sumOf(counts: object): number {
  return Object.values(counts).reduce((sum: number, count) => sum + Number(count), 0);
}
