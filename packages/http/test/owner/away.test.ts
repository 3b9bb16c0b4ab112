/** Requests while the shared store is unavailable. */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../../src/index.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { redisStores } from '../../../nodes/src/redis.ts';
import { RedisServer, hasRedis, needsRedis } from '../../../nodes/test/redis-server.ts';
import { EventReader, RawSession, begin, initializeRequest, jsonOf, post } from '../raw-client.ts';
import { reportLog, serveEndpoint, serveHttp } from '../serving.ts';

let redis: RedisServer;

beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});

const asking = defineTool({
  name: 'ask',
  description: 'Asks the client for its roots',
  handler: async (_, { request }) =>
    JSON.stringify(await request('roots/list', undefined, { probe: true })),
});

const echo = defineTool({ name: 'echo', description: 'Says hello', handler: () => 'hello' });

/** Starts a node on that Redis until the test ends. */
async function startNode(report = reportLog()) {
  // Longer than Redis takes on a busy machine.
  const stores = await redisStores({ url: redis.url, commandTimeoutMs: 2000, leaseMs: 8000 });
  const server = createMcpServer({
    name: 'away',
    version: '1',
    tools: [asking, echo],
    logging: {},
  });
  const options = { stores, report: report.report, session: report };
  const { url, kill } = await serveEndpoint(server, options);
  return { url, kill, ...report };
}

/** Makes Redis reject writes. */
async function full(): Promise<void> {
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  onTestFinished(async () => void (await redis.ask('CONFIG', 'SET', 'maxmemory', '0')));
}

function frozen(): void {
  redis.freeze();
  onTestFinished(() => redis.thaw());
}

describe('an unresponsive Redis', () => {
  beforeEach((context) => needsRedis(context));

  test('leaves a node serving its own sessions during its lease; other requests get 503 with Retry-After', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const here = await begin(a.url, '2025-06-18', { roots: {} });
    const call = await here.call('ask');
    const events = new EventReader(call);
    const { data: question } = await events.message();
    const there = new RawSession(b.url, here.headers);
    await there.request('ping');
    const unknownThere = await begin(a.url);
    frozen();
    expect((await jsonOf(await here.call('echo'))).result).toMatchObject({
      content: [{ text: 'hello' }],
    });
    const refused = [
      new RawSession(b.url, unknownThere.headers).request('ping'),
      post(a.url, initializeRequest()),
      here.request('logging/setLevel', { level: 'error' }),
      here.delete(),
    ];
    for (const response of await Promise.all(refused)) {
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await jsonOf(response)).error?.message).toContain('other nodes');
    }
    // A standalone stream still opens.
    expect((await here.get()).response.status).toBe(200);
    // Responses to this node's own requests need no other node.
    const answered = await here.post({ jsonrpc: '2.0', id: question.id, result: { roots: [] } });
    expect(answered.status).toBe(202);
    expect((await events.message()).data.result).toBeDefined();
    await expect(a.told('nodes.unavailable')).resolves.toMatchObject({ level: 'warning' });
    // Other nodes may own its sessions after that.
    await expect(a.told('nodes.lapsed')).resolves.toMatchObject({ level: 'warning' });
    expect((await here.call('echo')).status).toBe(503);
  });

  test.each([
    ['does not answer', async () => frozen()],
    ['is unreachable', () => redis.kill().then(() => onTestFinished(() => redis.start()))],
    ['is full', () => full()],
  ])(
    'lets a node forward to cached owners and answer all other requests in time: Redis %s',
    async (what, fail) => {
      const [a, b] = [await startNode(), await startNode()];
      const [known, other] = [await begin(a.url), await begin(a.url)];
      const there = new RawSession(b.url, known.headers);
      await (await there.request('ping')).text();
      await fail();
      const served = await there.call('echo');
      expect((await jsonOf(served)).result).toMatchObject({ content: [{ text: 'hello' }] });
      const since = performance.now();
      const first = await new RawSession(b.url, other.headers).request('ping');
      // A full Redis can still be read.
      expect(first.status).toBe(what === 'is full' ? 200 : 503);
      if (first.status === 503) {
        expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      a.kill();
      const lost = await Promise.all([1, 2, 3].map(() => there.request('ping')));
      for (const answer of lost) {
        const text = await answer.text();
        if (answer.status === 200) expect(text).toContain('process-ended');
        else expect(answer.status).toBe(503);
      }
      // Twice the command timeout of this test.
      expect(performance.now() - since).toBeLessThan(10_000);
    },
  );

  test('loses nothing that existed before once it answers again', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const here = await begin(a.url);
    redis.freeze();
    const refused = await new RawSession(b.url, here.headers).request('ping');
    expect(refused.status).toBe(503);
    redis.thaw();
    await expect
      .poll(async () => (await new RawSession(b.url, here.headers).request('ping')).status)
      .toBe(200);
  });
});

test('warns once at start if the nodes share no key for request states', async () => {
  const facts = reportLog();
  const definition = { name: 'keyless', version: '1', tools: [echo] };
  const stores = { stores: new MemoryNodes().start(), report: facts.report };
  const url = await serveHttp(createMcpServer(definition), stores);
  const missing = [expect.objectContaining({ name: 'stateKeys.missing', level: 'warning' })];
  expect(facts.facts).toEqual(missing);
  await begin(url);
  expect(facts.facts).toEqual(missing);
  const made = reportLog();
  const making = { stores: new MemoryNodes().start(), report: made.report };
  await begin(await serveHttp(() => createMcpServer(definition), making));
  expect(made.facts).toEqual(missing);
  const keyed = reportLog();
  const stateKeys = [Buffer.alloc(32, 1).toString('base64')];
  const withKeys = createMcpServer({ ...definition, stateKeys });
  await begin(
    await serveHttp(withKeys, { stores: new MemoryNodes().start(), report: keyed.report }),
  );
  expect(keyed.facts).toEqual([]);
});

test('reports an unexpected store error without telling the client', async () => {
  const stores = new MemoryNodes().start();
  const facts = reportLog();
  const find = () => Promise.reject(new Error('a bug'));
  const failing = { ...stores, directory: { ...stores.directory, find } };
  const server = createMcpServer({ name: 'failing', version: '1', tools: [echo] });
  const url = await serveHttp(server, { stores: failing, report: facts.report });
  const session = new RawSession(url, { 'mcp-session-id': 'unknown' });
  const response = await session.request('ping');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('a bug');
  await expect(facts.told('nodes.failed')).resolves.toMatchObject({ level: 'error' });
});
