/** What nodes ask of Redis: commands for a request, and bytes for a session. */
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import { redisStores } from '../../../src/redis/index.ts';
import { RawSession, begin, jsonOf } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});

/** All nodes have it. */
const key = Buffer.alloc(32, 1).toString('base64');

const echo = defineTool({ name: 'echo', description: 'Says it', handler: () => 'said' });

/** Endpoints that share keys of their own. Each has its lease, and does not renew it while a test lasts. */
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

/** How often a node looks into its inbox while nothing comes, milliseconds. */
const lookMs = 500;

/** What Redis was asked for while `body` ran, by command, and how often it was looked for what does not come. */
async function commandsOf(body: () => Promise<unknown>) {
  const client = await createClient({ url: redis.url }).connect();
  try {
    await client.configResetStat();
    const since = performance.now();
    await body();
    const idleLooks = 2 * Math.ceil((performance.now() - since) / lookMs);
    const stats = await client.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_([a-z]+):calls=(\d+)/gm)];
    const { xreadgroup = 0, ...others } = Object.fromEntries(
      calls.map(([, name = '', count]) => [name, Number(count)]),
    );
    return { xreadgroup, idleLooks, others };
  } finally {
    client.destroy();
  }
}

async function call(session: RawSession, times = 1): Promise<void> {
  for (let time = 0; time < times; time++) {
    expect((await jsonOf(await session.call('echo'))).result).toBeDefined();
  }
}

test('a request that reaches its owner asks nothing of Redis', async (context) => {
  needsRedis(context);
  const { here } = await startNodes();
  const session = await begin(here);
  const lanes = Array.from({ length: 10 }, () => session);
  const asked = await commandsOf(() => Promise.all(lanes.map((lane) => call(lane, 100))));
  expect(asked.others).toEqual({});
  expect(asked.xreadgroup).toBeLessThanOrEqual(asked.idleLooks + ahead);
});

test('a request that reaches another node takes two commands each way, and fewer if several come together', async (context) => {
  needsRedis(context);
  const { here, there, prefix } = await startNodes();
  const session = new RawSession(there, (await begin(here)).headers);
  // From now on it is known who has the session.
  await call(session);
  const single = await commandsOf(() => call(session, 100));
  const { xadd, ...others } = single.others;
  expect(xadd).toBe(200);
  expect(single.xreadgroup).toBeLessThanOrEqual(200 + single.idleLooks + ahead);
  expect(sumOf(others)).toBeLessThan(5);
  const client = await createClient({ url: redis.url }).connect();
  const together = await commandsOf(async () => {
    // Redis takes nothing until all requests are there, however long that is.
    await client.sendCommand(['CLIENT', 'PAUSE', '60000', 'WRITE']);
    const arrived = requestsArrive(100);
    const answered = Promise.all(Array.from({ length: 100 }, () => call(session)));
    await arrived;
    await client.sendCommand(['CLIENT', 'UNPAUSE']);
    await answered;
  });
  expect(together.others['xadd']).toBeLessThan(10);
  // What was read does not stay.
  const lengths = async () =>
    sumOf(
      await Promise.all((await client.keys(`${prefix}*:inbox`)).map((inbox) => client.xLen(inbox))),
    );
  await expect.poll(lengths).toBe(0);
  client.destroy();
});

test('a session takes two commands to begin and one to end, and less than 1 KiB while it rests', async (context) => {
  needsRedis(context);
  const { here, prefix } = await startNodes();
  const begun = await commandsOf(() => begin(here));
  expect(begun.others['evalsha']).toBe(2);
  const session = await begin(here);
  await call(session);
  const client = await createClient({ url: redis.url }).connect();
  const keys = await client.keys(`${prefix}{${session.headers['mcp-session-id']}}*`);
  const bytes = await Promise.all(keys.map((name) => client.memoryUsage(name, { SAMPLES: 0 })));
  client.destroy();
  expect(keys.length).toBeGreaterThan(0);
  expect(sumOf(bytes)).toBeLessThan(1024);
  const ended = await commandsOf(() => session.delete());
  expect(ended.others['evalsha']).toBe(1);
});

/** Resolves when so many requests have reached the endpoints of this process. */
async function requestsArrive(count: number): Promise<void> {
  const channel = 'http.server.request.start';
  await new Promise<void>((resolve) => {
    let left = count;
    const hear = () => {
      if (--left > 0) return;
      unsubscribe(channel, hear);
      resolve();
    };
    subscribe(channel, hear);
  });
}

/** Looks that each of two nodes may have sent ahead. */
const ahead = 8;

function sumOf(counts: object): number {
  return Object.values(counts).reduce((sum: number, count) => sum + Number(count), 0);
}
