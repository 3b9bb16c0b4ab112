/** A bridge at several nodes that share a Redis: whose process a request reaches, and what a restart costs. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { redisStores } from 'mcp-actors/redis';
import { enveloped } from 'mcp-actors/testing';
import { RedisServer, hasRedis, needsRedis } from '../../nodes/test/redis-server.ts';
import { RawSession, begin, messagesOf, post } from '../../http/test/raw-client.ts';
import type { Message } from '../../http/test/raw-client.ts';
import { serveEndpoint } from '../../http/test/serving.ts';
import { launchHttp } from '../../../test/e2e/http-process.ts';
import { command, reapServers } from '../../../test/e2e/server-process.ts';
import { Journal } from './journal.ts';

const program = (name: string) => join(import.meta.dirname, name);
const silent = { report: () => {} };
const stateKeys = [Buffer.alloc(32, 1).toString('base64')];

let redis: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(() => redis?.stop());

let journal: Journal;
let prefix = '';

beforeEach(async (context) => {
  needsRedis(context);
  journal = await Journal.of(context);
  prefix = `${randomUUID()}:`;
});

const timesOf = (mark: string) =>
  journal.arrived().filter((line) => line.endsWith(` tools/call ${mark}`)).length;

/** A node of a bridge, until the test is over. What still runs when it ends has half a second. */
async function startNode(args: readonly string[] = [program('journal-server.mjs'), journal.path]) {
  const stores = await redisStores({ url: redis!.url, prefix });
  const served = bridge(
    { command: process.execPath, args },
    { processIdleMs: 0, ...silent, definition: { stateKeys } },
  );
  const session = { ...silent, limits: { drainTimeoutMs: 500 } };
  return await serveEndpoint(served, { ...silent, stores, session });
}

interface Told {
  readonly mark: string;
  readonly pid: number;
  readonly answers: readonly unknown[];
}

/** What the tool has said; undefined if the call was answered with an error. */
function toldBy({ result }: Pick<Message, 'result'>): Told | undefined {
  const [block] = (result?.['content'] ?? []) as readonly { readonly text: string }[];
  return block && (JSON.parse(block.text) as Told);
}

async function answerOf(response: Response): Promise<Message> {
  const answer = (await messagesOf(response)).at(-1);
  if (!answer) throw new Error('there is no answer');
  return answer;
}

const act = (session: RawSession, mark: string, ...steps: readonly string[]) =>
  session.call('act', { mark, steps }, mark);

test('reaches the process of a session from every node', async () => {
  const nodes = [await startNode(), await startNode(), await startNode()];
  const session = await begin(nodes[0]!.url);
  const told: (Told | undefined)[] = [];
  for (const [n, { url }] of nodes.entries()) {
    const there = new RawSession(url, session.headers);
    told.push(toldBy(await answerOf(await act(there, `at-${n}`, 'pause'))));
  }
  expect(told.map((each) => each?.mark)).toEqual(['at-0', 'at-1', 'at-2']);
  expect(new Set(told.map((each) => each?.pid))).toEqual(new Set(journal.started()));
  expect(journal.started()).toHaveLength(1);
});

/** Calls in 2026-07-28, as a host that can be asked. */
async function called(url: URL, params: JsonObject): Promise<Message> {
  const method = 'tools/call';
  const capabilities = { sampling: {}, elicitation: { form: {} } };
  const message = enveloped(1, method, params, { capabilities });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
  return answerOf(await post(url, message, { ...headers, 'mcp-name': String(params['name']) }));
}

/** The retry of a call that was answered with questions. */
function retryOf(params: JsonObject, { result }: Message, answer: JsonObject): JsonObject {
  const { resultType, inputRequests, requestState } = result ?? {};
  expect(resultType).toBe('input_required');
  const keys = Object.keys(inputRequests as object);
  return { ...params, inputResponses: { [String(keys[0])]: answer }, requestState };
}

test("takes answers to a 2026-07-28 server's questions at any node", async () => {
  const args = [program('modern-server.mjs')];
  const [here, there] = [await startNode(args), await startNode(args)];
  const params = { name: 'form', arguments: {} };
  const answer = { action: 'accept', content: { name: 'Ada' } };
  const { result } = await called(
    there.url,
    retryOf(params, await called(here.url, params), answer),
  );
  expect(JSON.stringify(result)).toContain('Ada');
});

/** Sends the call of a tool, and each of its retries, to the next of these nodes; all else to the first. */
function byTurns(urls: readonly URL[]) {
  let turns = 0;
  const route: typeof fetch = (input, init) => {
    const isCall = new Headers(init?.headers).get('mcp-method') === 'tools/call';
    return fetch(isCall ? urls[turns++ % urls.length]! : input, init);
  };
  return { route, turns: () => turns };
}

test("takes answers to an older server's questions at any node, in the same process", async () => {
  const nodes = [await startNode(), await startNode(), await startNode()];
  const { route, turns } = byTurns(nodes.map(({ url }) => url));
  const capabilities = { sampling: {} };
  const client = new Client(
    { name: 'host', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  let answers = 0;
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    model: `answer ${++answers}`,
    content: { type: 'text', text: 'yes' },
  }));
  await client.connect(new StreamableHTTPClientTransport(nodes[0]!.url, { fetch: route }));
  onTestFinished(() => client.close());
  const result = await client.callTool({
    name: 'act',
    arguments: { mark: 'asks', steps: ['ask', 'ask', 'ask'] },
  });
  expect(toldBy({ result: result as JsonObject })?.answers).toMatchObject([
    { model: 'answer 1' },
    { model: 'answer 2' },
    { model: 'answer 3' },
  ]);
  expect(turns()).toBe(4);
  expect(timesOf('asks')).toBe(1);
  // One for the greeting, if it has ended since, and that of the call: the other nodes have started none.
  expect(journal.started().length).toBeLessThan(3);
});

test('counts a rate across all nodes', async () => {
  const shared = ['--redis', `${redis!.url}/9`, '--rate', 'act=3/day', '--log-level', 'info'];
  const launched = ['--', process.execPath, program('journal-server.mjs'), journal.path];
  const args = [...command, 'bridge', '--http', '0', ...shared, ...launched];
  const nodes = [await launchHttp(args), await launchHttp(args)];
  onTestFinished(reapServers);
  const told: (string | undefined)[] = [];
  for (let n = 0; n < 5; n++) {
    const session = await begin(nodes[n % 2]!.url);
    const { error, result } = await answerOf(await act(session, `call-${n}`));
    told.push(toldBy({ result })?.mark ?? JSON.stringify(error?.data));
  }
  expect(told.slice(0, 3)).toEqual(['call-0', 'call-1', 'call-2']);
  for (const each of told.slice(3)) expect(each).toContain('rate-limited');
});

test('a rolling restart under load fails only calls in flight at a process, with their reason', async () => {
  const nodes = [await startNode(), await startNode(), await startNode()];
  let turn = 0;
  /** As behind a balancer: a node that ends says 503, and another one is asked. */
  const anywhere = async (session: RawSession, mark: string): Promise<Message> => {
    for (;;) {
      const { url } = nodes[turn++ % nodes.length]!;
      const response = await act(new RawSession(url, session.headers), mark, 'pause');
      if (response.status !== 503) return answerOf(response);
      await response.body?.cancel();
    }
  };
  const load = { state: 'on' as 'on' | 'off' };
  const outcomes = new Map<string, Message>();
  const callers = nodes.map(async ({ url }, n) => {
    const session = await begin(url);
    for (let call = 0; load.state === 'on'; call++) {
      const mark = `load-${n}-${call}`;
      outcomes.set(mark, await anywhere(session, mark));
      // Without a pause, the callers would take the machine from the nodes that start.
      await setTimeout(10);
    }
  });
  const served = () =>
    nodes.map((_, n) => [...outcomes].filter(([m]) => m.startsWith(`load-${n}-`)).length);
  const allServed = async () => {
    const before = served();
    await vi.waitFor(
      () => served().forEach((count, n) => expect(count).toBeGreaterThan(before[n]! + 1)),
      { timeout: 100_000 },
    );
  };
  const cut: Message[] = [];
  for (const [n, old] of [...nodes].entries()) {
    await allServed();
    const answered = act(await begin(old.url), `cut-${n}`, 'stay').then(answerOf);
    await vi.waitFor(() => expect(timesOf(`cut-${n}`)).toBe(1), { timeout: 100_000 });
    nodes[n] = await startNode();
    await old.close();
    cut.push(await answered);
  }
  await allServed();
  load.state = 'off';
  await Promise.all(callers);
  for (const { error } of cut) {
    expect(error).toMatchObject({ data: { reason: expect.any(String) } });
  }
  const arrived = new Map<string, number>();
  for (const line of journal.arrived()) {
    const message = line.slice(line.indexOf(' ') + 1);
    arrived.set(message, (arrived.get(message) ?? 0) + 1);
  }
  for (const [mark, answer] of outcomes) {
    if (answer.error) expect(answer.error).toMatchObject({ data: { reason: expect.any(String) } });
    else expect(toldBy(answer)?.mark).toBe(mark);
    expect(arrived.get(`tools/call ${mark}`), mark).toBe(1);
  }
});

test('rejects an answer to an older server whose node has ended, and repeats no call', async () => {
  const nodes = [await startNode(), await startNode(), await startNode()];
  const params = { name: 'act', arguments: { mark: 'asks', steps: ['ask'] } };
  const answer = { role: 'assistant', model: 'ada', content: { type: 'text', text: 'yes' } };
  const retry = retryOf(params, await called(nodes[0]!.url, params), answer);
  await nodes[0]!.close();
  for (const { url } of nodes.slice(1)) {
    // Of a Redis that is young nobody knows yet what it has lost.
    const { result } = await vi.waitUntil(
      async () => {
        const answer = await called(url, retry);
        return answer.error ? undefined : answer;
      },
      { timeout: 100_000, interval: 500 },
    );
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('NOT_RESUMABLE');
  }
  expect(timesOf('asks')).toBe(1);
});
