/** Deployment of three nodes while clients keep calling: new nodes start, and old ones end. */
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import type { JsonObject } from 'mcp-actors';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ask } from '../../packages/http/test/modern/modern-client.ts';
import { connectTo } from '../../packages/http/test/serving.ts';
import { RedisServer, hasRedis, needsRedis } from '../../packages/nodes/test/redis-server.ts';
import { program } from '../tooling/programs.ts';
import { modern, textOf } from './both-eras-client.ts';
import { launchHttp } from './http-process.ts';
import type { HttpProcess } from './http-process.ts';
import { RoundRobin } from './round-robin.ts';
import { reapServers } from './server-process.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  await reapServers();
  if (hasRedis()) await redis.stop();
});
beforeEach((context) => needsRedis(context));

/** Number of calling clients. If set, their rate is printed. */
const { CLIENTS } = process.env;

function launchNode(VERSION: string): Promise<HttpProcess> {
  const STATE_KEY = Buffer.alloc(32, 1).toString('base64');
  const env = { REDIS_URL: redis.url, STATE_KEY, VERSION };
  return launchHttp(program('test/e2e/deployed-node.ts'), { env });
}

/**
 * Pretends that Redis has been running for long: with a new one, nodes wait for sessions to be
 * restored.
 */
async function hasLongBeen({ url }: RedisServer): Promise<void> {
  const client = await createClient({ url }).connect();
  const [store = ''] = await client.keys('*{leases}:store');
  expect(await client.hSet(store, 'since', '0')).toBe(0);
  client.destroy();
}

const versionAt = async (client: Client): Promise<string> =>
  textOf((await client.callTool({ name: 'version', arguments: {} })) as CallToolResult);

/** Calls the tool that requires input, or continues that call with an answer. */
async function confirm(url: URL, asked?: JsonObject): Promise<JsonObject | undefined> {
  const [key = ''] = Object.keys((asked?.['inputRequests'] ?? {}) as JsonObject);
  const retry = asked && {
    requestState: asked['requestState'],
    inputResponses: { [key]: { action: 'accept', content: {} } },
  };
  const params = { name: 'confirm', arguments: {}, ...retry } as JsonObject;
  return (await ask(url, 'tools/call', params, { capabilities: { elicitation: { form: {} } } }))
    .result;
}

test('fails no request and loses no waiting call during a deployment of three nodes', async () => {
  const nodes = await Promise.all(['one', 'one', 'one'].map(launchNode));
  await hasLongBeen(redis);
  const balancer = await RoundRobin.start(nodes.map(({ url }) => url));

  const waiting = await Promise.all(Array.from({ length: 30 }, () => confirm(balancer.url)));
  expect(new Set(waiting.map((result) => result?.['resultType']))).toEqual(
    new Set(['input_required']),
  );

  const count = Number(CLIENTS ?? 8);
  const clients = await Promise.all(
    Array.from({ length: count }, (_, n) => connectTo(balancer.url, n % 2 ? modern : 'legacy')),
  );
  let phase: 'deploying' | 'deployed' = 'deploying';
  const failures: unknown[] = [];
  const answers = new Map<string, number>();
  const since = performance.now();
  const calling = clients.map(async (client) => {
    while (phase === 'deploying') {
      const answer = await versionAt(client).catch((error: unknown) => void failures.push(error));
      if (answer) answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
  });
  for (const node of nodes) {
    const next = await launchNode('two');
    balancer.replace(node.url, next.url);
    await balancer.drained(node.url);
    node.server.child.kill('SIGTERM');
    expect(await node.server.exit).toEqual({ code: 0, signal: null });
  }
  // Each client has seen the new version.
  await expect.poll(() => answers.get('two') ?? 0).toBeGreaterThan(clients.length);
  phase = 'deployed';
  await Promise.all(calling);
  if (CLIENTS !== undefined) {
    const calls = [...answers.values()].reduce((sum, each) => sum + each, 0);
    const seconds = (performance.now() - since) / 1000;
    console.log(
      `${calls} calls in ${seconds.toFixed(1)} s, ${(calls / seconds).toFixed(0)} a second`,
    );
  }
  expect(failures).toEqual([]);
  const gone = await Promise.all(waiting.map((asked) => confirm(balancer.url, asked)));
  expect(gone.map((result) => result?.['content'])).toEqual(
    waiting.map(() => [{ type: 'text', text: 'accept by two' }]),
  );
});
