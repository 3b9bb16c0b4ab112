/** Redis with TLS and a minimal user, reached in every supported way. */
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import type { RedisStoresOptions } from '../src/redis.ts';
import { RawSession, begin } from '../../http/test/raw-client.ts';
import { reportLog } from '../../http/test/serving.ts';
import { certificate } from './loopback-certificate.ts';
import { startRedisNodes, stateKeys } from './redis-nodes.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

/** The permissions documented in docs/http.md. */
const rights =
  '~shared:* &shared:* +@read +@write +@scripting +@connection +@pubsub +time +info +cluster|info';

let redis: RedisServer;
beforeAll(async () => {
  if (!hasRedis()) return;
  redis = await RedisServer.start({
    scheme: 'rediss',
    configuration: ['user default off', `user nodes on >secret ${rights}`].join('\n'),
  });
});
afterAll(() => redis?.stop());
beforeEach(needsRedis);

const socket = { tls: true, ca: certificate } as const;
const user = { username: 'nodes', password: 'secret' };

const readyClient = async () => {
  const client = createClient({ url: redis.url, ...user, socket });
  await client.connect();
  onTestFinished(() => client.destroy());
  return { client };
};

test.each<[string, () => RedisStoresOptions | Promise<RedisStoresOptions>]>([
  ['a ready client', readyClient],
  ['a URL and settings', () => ({ url: redis.url, client: { ...user, socket } })],
  [
    'a URL with its user',
    () => ({ url: redis.url.replace('//', '//nodes:secret@'), client: { socket } }),
  ],
])('shares sessions by %s', async (_, stores) => {
  const { report, facts } = reportLog();
  const [a, b] = await startRedisNodes({
    count: 2,
    stores: async () => ({ commandTimeoutMs: 20_000, ...(await stores()) }),
    server: () =>
      createMcpServer({
        name: 'access',
        version: '1',
        tools: [defineTool({ name: 'echo', description: 'Echoes', handler: () => 'echo' })],
        logging: {},
        stateKeys,
      }),
    http: { report },
  });
  const here = await begin(a!);
  const there = new RawSession(b!, here.headers);
  expect((await here.request('logging/setLevel', { level: 'error' })).status).toBe(200);
  expect(await (await there.call('echo')).text()).toContain('echo');
  expect((await there.delete()).status).toBe(204);
  expect((await here.request('ping')).status).toBe(404);
  expect(facts.filter(({ message }) => message.includes('refuses'))).toEqual([]);
});
