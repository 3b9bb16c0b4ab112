/** Three processes that share their sessions in a real Redis, behind a load balancer without affinity. */
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { setTimeout } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { EventReader, RawSession, begin, jsonOf } from '../../packages/http/test/raw-client.ts';
import type { Message } from '../../packages/http/test/raw-client.ts';
import { connectTo } from '../../packages/http/test/serving.ts';
import { RedisServer, hasRedis, needsRedis } from '../../packages/nodes/test/redis-server.ts';
import { program } from '../tooling/programs.ts';
import { textOf } from './both-eras-client.ts';
import { launchHttp, launchLab } from './http-process.ts';
import type { HttpProcess } from './http-process.ts';
import { RoundRobin } from './round-robin.ts';
import { launch, reapServers, workspaceCommand } from './server-process.ts';

let redis: RedisServer;

beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(async () => {
  if (hasRedis()) await redis.stop();
});
beforeEach((context) => needsRedis(context));
afterAll(reapServers);

const launched: HttpProcess[] = [];

async function launchNode(): Promise<HttpProcess> {
  const node = await launchLab('--redis', redis.url);
  launched.push(node);
  return node;
}

const isAlive = ({ server: { child } }: HttpProcess): boolean =>
  child.exitCode === null && child.signalCode === null;

/** Three running nodes: reuses those that earlier tests left alive, and starts the missing ones. */
async function threeNodes(): Promise<readonly [HttpProcess, HttpProcess, HttpProcess]> {
  const [a, b, c] = launched.filter(isAlive);
  return Promise.all([a ?? launchNode(), b ?? launchNode(), c ?? launchNode()]);
}

const ofShortLease: HttpProcess[] = [];

/**
 * Three nodes for a test that kills one and waits until it counts as dead, after 3 s instead of 10:
 * reuses those that earlier tests left alive.
 */
async function threeOfShortLease(): Promise<readonly [HttpProcess, HttpProcess, HttpProcess]> {
  const launchOne = async () => {
    const node = await launchLab('--redis', redis.url, '--redis-lease', '3000');
    ofShortLease.push(node);
    return node;
  };
  const [a, b, c] = ofShortLease.filter(isAlive);
  return Promise.all([a ?? launchOne(), b ?? launchOne(), c ?? launchOne()]);
}

/** Resolves once a session is served, whichever node owned it. */
async function served(session: RawSession): Promise<void> {
  const status = async () => (await session.request('ping')).status;
  await expect.poll(status).toBe(200);
}

async function balanced() {
  const nodes = await threeNodes();
  return { nodes, balancer: await RoundRobin.start(nodes.map(({ url }) => url)) };
}

const at = ({ url }: HttpProcess, { headers }: RawSession) => new RawSession(url, headers);

async function kill({ server }: HttpProcess): Promise<void> {
  server.child.kill('SIGKILL');
  await server.exit;
}

const echo = async (client: Client, message: string): Promise<string> =>
  textOf((await client.callTool({ name: 'echo', arguments: { message } })) as CallToolResult);

const answerTo = (id: unknown, result: object) => ({ jsonrpc: '2.0', id, result });

async function echoed(session: RawSession, message: string): Promise<unknown> {
  const { result } = await jsonOf(await session.call('echo', { message }));
  const [content] = (result?.['content'] ?? []) as readonly { readonly text: string }[];
  return content?.text;
}

/** A hundred at a time, because a node rejects more than it can serve in a second with 503. */
async function inWaves<T, R>(all: readonly T[], send: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < all.length; from += 100) {
    results.push(...(await Promise.all(all.slice(from, from + 100).map(send))));
  }
  return results;
}

describe('three processes', () => {
  test('serve the official client in turns, including its answers to requests', async () => {
    const { balancer } = await balanced();
    const client = await connectTo(balancer.url, 'legacy', { roots: { listChanged: true } });
    let asked = 0;
    client.setRequestHandler('roots/list', () => {
      asked++;
      return { roots: [{ uri: 'file:///here' }] };
    });
    for (let n = 0; n < 9; n++) expect(await echo(client, `${n}`)).toBe(`${n}`);
    const ask = { name: 'ask', arguments: { kind: 'roots', count: 6, concurrent: true } };
    expect(textOf((await client.callTool(ask)) as CallToolResult)).toContain('"succeeded":6');
    expect(asked).toBeGreaterThanOrEqual(6);
  });

  test('keep 500 sessions together, and serve each in turns with a hundred requests at a time', async () => {
    const { balancer } = await balanced();
    const places = Array.from({ length: 500 }, () => balancer.url);
    const sessions = await inWaves(places, (url) => begin(url, '2025-06-18'));
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(500);
    for (const round of ['first', 'second', 'third']) {
      const answers = await inWaves(sessions, (session) =>
        echoed(session, `${round} ${session.id}`),
      );
      expect(answers).toEqual(sessions.map(({ id }) => `${round} ${id}`));
    }
    await inWaves(sessions, (session) => session.delete());
    // Other nodes learn of an end from its node, a moment later.
    const statuses = async () => {
      const answers = await inWaves(sessions, (session) => session.request('ping'));
      return new Set(answers.map(({ status }) => status));
    };
    await expect.poll(statuses).toEqual(new Set([404]));
  });
});

describe('after the kill of a process', () => {
  test('its session is served by the others', async () => {
    const [a, b, c] = await threeOfShortLease();
    const here = await begin(a.url);
    await kill(a);
    await served(at(b, here));
    expect(await echoed(at(b, here), 'b')).toBe('b');
    expect(await echoed(at(c, here), 'c')).toBe('c');
  });

  test('its call ends with an error on the stream resumed elsewhere', async () => {
    const [a, b] = await threeOfShortLease();
    const here = await begin(a.url);
    const args = { name: 'slow', arguments: { ms: 600_000 }, _meta: { progressToken: 1 } };
    const stream = new EventReader(await here.request('tools/call', args, 'slow'));
    const { id } = await stream.message();
    await kill(a);
    // No other node takes its sessions before its lease has expired.
    await served(at(b, here));
    const resumed = await at(b, here).get(id);
    let message: Message;
    do ({ data: message } = await resumed.message());
    while (message.method !== undefined);
    expect(message).toMatchObject({ id: 'slow', error: { data: { reason: 'process-ended' } } });
    await expect(resumed.rest()).resolves.toEqual([]);
  });

  test('the answer to its request is rejected, and its call can be repeated', async () => {
    const [a, b] = await threeOfShortLease();
    const here = await begin(a.url, '2025-11-25', { roots: {} });
    const ask = { kind: 'roots', count: 1, concurrent: false };
    const { data } = await new EventReader(await here.call('ask', ask)).message();
    await kill(a);
    const there = at(b, here);
    const roots = { roots: [] };
    // Its death is unknown before its lease has expired.
    await expect.poll(async () => (await there.post(answerTo(data.id, roots))).status).toBe(400);
    const again = new EventReader(await there.call('ask', ask));
    const { data: question } = await again.message();
    expect((await there.post(answerTo(question.id, roots))).status).toBe(202);
    expect((await again.message()).data.result).toBeDefined();
  });

  test('pushes use the stream opened elsewhere', async () => {
    const [a, b, c] = await threeOfShortLease();
    const here = await begin(a.url);
    await here.get();
    await kill(a);
    await served(at(b, here));
    const stream = await at(b, here).get();
    await (await at(c, here).call('change', { what: 'tools' })).text();
    const { data } = await stream.message();
    expect(data.method).toBe('notifications/tools/list_changed');
  });
});

/**
 * Failures that clients may see while a node shuts down, after which they retry according to
 * docs/http.md.
 */
const retryable = new Set([
  // The answer of a draining node.
  '503: The server is closing; try again',
  // The connection was closed before the request arrived, or the balancer finds the node gone.
  'fetch failed',
  '502',
]);

/** An error of the official client: status and server message, or its own message. */
function kindOf(error: unknown): string {
  const { message, data } = error as Error & {
    readonly data?: { readonly status?: number; readonly text?: string };
  };
  if (data?.status === undefined) return message;
  const said = data.text ? (JSON.parse(data.text) as Message).error?.message : undefined;
  return said === undefined ? `${data.status}` : `${data.status}: ${said}`;
}

test('loses no answer during a rolling restart of three processes', async () => {
  const { nodes, balancer } = await balanced();
  const clients = await Promise.all(
    Array.from({ length: 2 }, () => connectTo(balancer.url, 'legacy')),
  );
  let phase: 'restarting' | 'restarted' = 'restarting';
  const failures: unknown[] = [];
  const calling = clients.map(async (client, number) => {
    let answers = 0;
    for (; phase === 'restarting' || answers === 0; answers++) {
      const message = `${number}: ${answers}`;
      try {
        expect(await echo(client, message)).toBe(message);
      } catch (error) {
        failures.push(error);
      }
      // Without a pause, the clients would starve the starting nodes.
      await setTimeout(10);
    }
    // With a new Redis, sessions of dead nodes may not be restored yet.
    const last = `${number}: last`;
    await expect.poll(() => echo(client, last).catch(kindOf)).toBe(last);
  });
  for (const node of nodes) {
    node.server.child.kill('SIGTERM');
    expect(await node.server.exit).toEqual({ code: 0, signal: null });
    const next = await launchNode();
    balancer.replace(node.url, next.url);
  }
  phase = 'restarted';
  await Promise.all(calling);
  expect(failures.map(kindOf).filter((kind) => !retryable.has(kind))).toEqual([]);
});

test('restores the known sessions in an empty Redis', async () => {
  const [a, b] = await threeNodes();
  const here = await begin(a.url);
  await redis.kill();
  const refused = await at(a, here).delete();
  expect(refused.status).toBe(503);
  expect(await echoed(here, 'meanwhile')).toBe('meanwhile');
  expect((await at(b, here).request('ping')).status).toBe(503);
  await redis.start();
  const c = await launchNode();
  await expect.poll(async () => (await at(c, here).request('ping')).status).toBe(200);
});

test('shares the sessions of the example', async () => {
  const env = { PORT: '0', REDIS_URL: redis.url };
  const keyed = { ...env, STATE_KEY: Buffer.alloc(32, 1).toString('base64') };
  const started = () => launchHttp(program('examples/http/nodes.ts'), { env: keyed });
  const [a, b] = [await started(), await started()];
  const here = await begin(a.url);
  expect((await at(b, here).request('ping')).status).toBe(200);
  expect(a.server.stderr).not.toContain('stateKeys');
  const keyless = launch(program('examples/http/nodes.ts'), { env });
  expect(await keyless.exit).toMatchObject({ code: 1 });
  expect(keyless.stderr).toContain('Set STATE_KEY: openssl rand -base64 32');
});

describe('the command', () => {
  const launchCommand = () => {
    const args = [...workspaceCommand, '--http', '0', '--log-level', 'info'];
    const bound = ['--limit', 'http.eventTtlMs=7s'];
    return launchHttp([...args, '--redis', `${redis.url}/7`, ...bound]);
  };
  let first: Promise<HttpProcess> | undefined;
  const launchedFirst = () => (first ??= launchCommand());

  test('shares its sessions with --redis', async () => {
    const [a, b] = await Promise.all([launchedFirst(), launchCommand()]);
    const here = await begin(a.url);
    const { result } = await jsonOf(await at(b, here).request('tools/list'));
    expect(result).toHaveProperty('tools');
  });

  test("passes the endpoint's limits to Redis", async () => {
    const { url } = await launchedFirst();
    const store = await createClient({ url: `${redis.url}/7` }).connect();
    onTestFinished(() => store.close());
    const session = await begin(url, '2025-11-25', { roots: { listChanged: true } });
    const stream = await session.get();
    expect((await stream.message()).data.method).toBe('roots/list');
    const keys = async () => (await store.keys('mcp:*')).filter((key) => key.endsWith('log'));
    await expect.poll(keys).toHaveLength(1);
    const [key = ''] = await keys();
    const leftMs = await store.pTTL(key);
    expect([leftMs > 0, leftMs <= 7000]).toEqual([true, true]);
  });

  test('reports a missing Redis', async () => {
    const server = launch([...workspaceCommand, '--http', '0', '--redis', 'redis://127.0.0.1:1']);
    expect((await server.exit).code).toBe(2);
    expect(server.stderr).toContain('--redis: ');
  });
});
