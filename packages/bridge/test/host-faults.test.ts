/** Faults between a host and its server that a bridge has to survive. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Fact, JsonObject, McpServer } from 'mcp-actors';
import { stdio } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { readHostsFile } from 'mcp-actors/client';
import type { ServerEntry } from 'mcp-actors/client';
import {
  TestClock,
  cancelled,
  enveloped,
  initialize,
  initialized,
  request,
  toolCall,
} from 'mcp-actors/testing';
import { hostOf } from './hosts.ts';

const crowd = 'packages/bridge/test/crowd-server.mjs';
const journalServer = 'packages/bridge/test/journal-server.mjs';
const silent = { report: () => {} };
const entry = (name: string, ...own: readonly string[]) => ({
  command: process.execPath,
  args: [crowd, name, 'good', ...own],
});
let folder = '';

beforeEach(async (context) => {
  folder = await mkdtemp(join(tmpdir(), 'faults-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
});

/** A host over a pair of streams, whose chunks are what the test writes. */
function hosted(server: McpServer, clock?: TestClock) {
  const input = new PassThrough();
  const output = new PassThrough();
  const session = server.listen(stdio({ input, output }), {
    ...silent,
    ...(clock ? { clock } : {}),
  });
  onTestFinished(async () => {
    input.end();
    await session.closed;
  });
  const answers = new Map<unknown, JsonObject>();
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as JsonObject;
      answers.set(message['id'], message);
    }
  });
  return {
    input,
    session,
    send: (...messages: readonly object[]) =>
      void input.write(messages.map((each) => `${JSON.stringify(each)}\n`).join('')),
    answer: (id: number) =>
      vi.waitFor(
        () => {
          const found = answers.get(id);
          expect(found).toBeDefined();
          return found as JsonObject;
        },
        { timeout: 60_000 },
      ),
  };
}

test('reloads a watched file after a FIFO temporarily replaced it', async () => {
  const file = join(folder, 'mcp.json');
  const write = async (mcpServers: object) => {
    await writeFile(`${file}.new`, JSON.stringify({ mcpServers }));
    await rename(`${file}.new`, file);
  };
  await write({ a: entry('a'), b: entry('b') });
  const facts: Fact[] = [];
  const report = (fact: Fact) => void facts.push(fact);
  const has = (name: string) => () => expect(facts.map((fact) => fact.name)).toContain(name);
  const server = bridge(await readHostsFile(file), { report, patienceMs: 60_000 });
  const host = await hostOf('legacy', server);
  onTestFinished(() => host.close());
  await rm(file);
  execFileSync('mkfifo', [file]);
  await vi.waitFor(has('bridge.config-failed'), { timeout: 60_000 });
  await write({ a: entry('a'), b: entry('b'), c: entry('c') });
  await vi.waitFor(has('bridge.configured'), { timeout: 60_000 });
  expect(await host.callTool('c__who')).toBe('c');
});

test('serves input that ends before a slow server has started', async () => {
  const clock = new TestClock();
  const go = join(folder, 'go');
  const host = hosted(bridge(entry('a', `after=${go}`), { era: 'legacy', ...silent }), clock);
  host.send(initialize(1), initialized, toolCall(2, 'who'));
  host.input.end();
  while (!host.input.readableEnded) await setImmediate();
  clock.increment(10_000);
  await writeFile(go, '');
  expect(await host.answer(1)).toHaveProperty('result.serverInfo');
  expect(await host.answer(2)).toHaveProperty('result.content.0.text', 'a');
});

test('answers server/discover and initialize in one chunk', async () => {
  const host = hosted(bridge(entry('a'), silent));
  host.send(enveloped(1, 'server/discover'), initialize(2), initialized, request(3, 'tools/list'));
  expect(await host.answer(1)).toHaveProperty('result.supportedVersions');
  expect(await host.answer(2)).toHaveProperty('result.serverInfo');
  expect(await host.answer(3)).toHaveProperty('result.tools');
});

test('fails a retry whose process has ended with NOT_RESUMABLE', async () => {
  const journal = join(folder, 'journal');
  const launched = { command: process.execPath, args: [journalServer, journal] };
  const host = hosted(bridge(launched, { era: 'legacy', ...silent }));
  const params = { name: 'act', arguments: { mark: 'm', steps: ['ask'] } };
  const capabilities = { sampling: {} };
  host.send(enveloped(1, 'tools/call', params, { capabilities }));
  const { result } = (await host.answer(1)) as { result: JsonObject };
  const { requestState, inputRequests = {} } = result;
  const { pid } = JSON.parse(await readFile(`${journal}.pid`, 'utf8')) as { pid: number };
  process.kill(pid, 'SIGKILL');
  const reply = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } };
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests as object).map((key) => [key, reply]),
  );
  host.send(
    enveloped(2, 'tools/call', { ...params, requestState, inputResponses }, { capabilities }),
  );
  const retried = await host.answer(2);
  expect(retried).toHaveProperty('result.isError', true);
  expect(JSON.stringify(retried)).toContain('NOT_RESUMABLE');
});

test('resumes a call of a legacy server for a retry with another clientInfo', async () => {
  const journal = join(folder, 'journal');
  const launched = { command: process.execPath, args: [journalServer, journal] };
  const host = hosted(bridge(launched, { era: 'legacy', ...silent, maxProcesses: 1 }));
  const params = { name: 'act', arguments: { mark: 'm', steps: ['ask'] } };
  const capabilities = { sampling: {} };
  host.send(enveloped(1, 'tools/call', params, { capabilities }));
  const { result } = (await host.answer(1)) as { result: JsonObject };
  const { requestState, inputRequests } = result;
  const reply = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } };
  const [key = ''] = Object.keys(inputRequests as object);
  const retry = { ...params, requestState, inputResponses: { [key]: reply } } as JsonObject;
  const clientInfo = { name: 'scripted-peer', version: '2.0.0' };
  host.send(enveloped(2, 'tools/call', retry, { capabilities, clientInfo }));
  expect(JSON.stringify(await host.answer(2))).toContain('hi');
  const lines = (await readFile(journal, 'utf8')).split('\n');
  expect(lines.filter((line) => line.endsWith(' start'))).toHaveLength(1);
});

test.each(['never', 'already'])(
  'routes a retry to the process that asked, from a clientInfo that has %s called',
  async (before) => {
    const description = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const args = ['packages/bridge/test/raw-server.mjs', JSON.stringify(description)];
    const host = hosted(bridge({ command: process.execPath, args }, silent));
    const clientInfo = { name: 'scripted-peer', version: '2.0.0' };
    const asked = `{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"roots/list"}}}`;
    const lines = [`{"jsonrpc":"2.0","id":$ID,"result":${asked}}`];
    const params = { name: 'say', arguments: { lines } };
    const seen = { name: 'seen', arguments: {} };
    if (before === 'already') {
      host.send(enveloped(1, 'tools/call', seen, { clientInfo }));
      await host.answer(1);
    }
    host.send(enveloped(2, 'tools/call', params));
    expect(await host.answer(2)).toHaveProperty('result.requestState', 's');
    const inputResponses = { k: { roots: [] } };
    const retry = { ...params, requestState: 's', inputResponses };
    host.send(enveloped(3, 'tools/call', retry, { clientInfo }));
    expect(await host.answer(3)).toHaveProperty('result.requestState', 's');
    host.send(enveloped(4, 'tools/call', seen));
    expect(JSON.stringify(await host.answer(4))).toContain('inputResponses');
  },
);

test('launches a 2026-07-28-only server once per legacy host', async () => {
  const launches = join(folder, 'launches');
  const noting = `require('node:fs').appendFileSync(process.env.LAUNCHES, 'x')`;
  const script = `${noting}; import('./packages/bridge/test/modern-server.mjs')`;
  const launched = {
    command: process.execPath,
    args: ['-e', script],
    env: { LAUNCHES: launches },
  };
  const server = bridge(launched, silent);
  for (const expected of ['x', 'xx']) {
    const host = await hostOf('legacy', server);
    onTestFinished(() => host.close());
    expect(await host.callTool('sample')).toContain('Hi');
    expect(await readFile(launches, 'utf8')).toBe(expected);
  }
});

test('redacts headers and environment values that a server repeats', async () => {
  const script = 'console.error("no access with " + process.env.NOTE); process.exit(3)';
  const echo = { command: process.execPath, args: ['-e', script], env: { NOTE: 'swordfish-9' } };
  const mcpServers = { echo, a: entry('a') };
  const host = await hostOf('legacy', bridge({ mcpServers }, { ...silent, patienceMs: 60_000 }));
  onTestFinished(() => host.close());
  const failed = await host.callTool('echo__any').catch((error: Error) => error.message);
  expect(failed).toContain('no access with [redacted]');
  const read = await host.request('resources/read', { uri: 'bridge://servers' });
  expect(JSON.stringify(read)).toContain('no access with [redacted]');
  const alone = hosted(bridge(echo, { ...silent, era: 'legacy' }));
  alone.send(initialize(1));
  expect(JSON.stringify(await alone.answer(1))).toContain('no access with [redacted]');
});

test.each(['error', 'result'])(
  'names an unknown tool as the host called it if its server reports it in its %s',
  async (how) => {
    const mcpServers = { files: { ...entry('files'), env: { CROWD_UNKNOWN: how } }, b: entry('b') };
    const host = await hostOf('legacy', bridge({ mcpServers }, { ...silent, patienceMs: 60_000 }));
    onTestFinished(() => host.close());
    await expect(host.callTool('files__whoo')).rejects.toThrow(
      'There is no tool "files__whoo". Did you mean files__who?',
    );
  },
);

test("logs once that a shared process does not learn its hosts' capabilities", async () => {
  const facts: Fact[] = [];
  const server = bridge(entry('a'), {
    share: 'shared',
    report: (fact) => void facts.push(fact),
  });
  onTestFinished(() => server.close());
  for (const era of ['legacy', 'legacy'] as const) {
    const host = await hostOf(era, server);
    await host.request('tools/list');
    await host.close();
  }
  const withheld = facts.filter(({ name }) => name === 'bridge.capabilities-withheld');
  expect(withheld).toMatchObject([{ level: 'warning' }]);
});

test.each([
  ['one server', (server: ServerEntry) => server],
  ['several servers', (server: ServerEntry) => ({ mcpServers: { a: server } })],
])('reports a subscription that fails at %s with its reason', async (_, sourceOf) => {
  const facts: Fact[] = [];
  const launched = { command: process.execPath, args: ['packages/bridge/test/legacy-server.mjs'] };
  const host = hosted(bridge(sourceOf(launched), { report: (fact) => void facts.push(fact) }));
  const notifications = { resourceSubscriptions: ['test://locked', 'test://thing'] };
  host.send(enveloped(1, 'subscriptions/listen', { notifications }));
  const failed = () => facts.filter(({ name }) => name === 'bridge.subscription-failed');
  await vi.waitFor(() => expect(failed()).toHaveLength(1), { timeout: 60_000 });
  expect(failed()).toMatchObject([
    { level: 'warning', message: expect.stringMatching(/"test:\/\/locked".*it is locked/) },
  ]);
});

test('reports a server that refuses to unsubscribe', async () => {
  const facts: Fact[] = [];
  const launched = { command: process.execPath, args: ['packages/bridge/test/legacy-server.mjs'] };
  const host = hosted(bridge(launched, { report: (fact) => void facts.push(fact) }));
  const notifications = { resourceSubscriptions: ['test://kept', 'test://thing'] };
  host.send(enveloped(1, 'subscriptions/listen', { notifications }));
  host.send(enveloped(2, 'tools/call', { name: 'change' }));
  expect(await host.answer(2)).toMatchObject({ result: {} });
  host.send(cancelled(1));
  const failed = () => facts.filter(({ name }) => name === 'bridge.unsubscription-failed');
  await vi.waitFor(() => expect(failed()).toHaveLength(1), { timeout: 60_000 });
  expect(failed()).toMatchObject([
    { level: 'warning', message: expect.stringMatching(/"test:\/\/kept".*it is kept/) },
  ]);
});

const loud = {
  command: process.execPath,
  args: ['packages/bridge/test/legacy-server.mjs', '--loud'],
};

test('reports which of several servers refuses a log level', async () => {
  const facts: Fact[] = [];
  const source = { mcpServers: { a: loud, b: { ...loud, args: loud.args.slice(0, 1) } } };
  const host = hosted(bridge(source, { report: (fact) => void facts.push(fact) }));
  host.send(initialize(1), initialized, request(2, 'tools/list'));
  await host.answer(2);
  host.send(request(3, 'logging/setLevel', { level: 'info' }));
  expect(await host.answer(3)).toMatchObject({ result: {} });
  expect(facts.filter(({ name }) => name === 'bridge.log-level-failed')).toMatchObject([
    { level: 'warning', message: expect.stringMatching(/ of a failed: .*it is loud/) },
  ]);
});

test('reports a repeatedly refused log level once', async () => {
  const facts: Fact[] = [];
  const host = hosted(bridge(loud, { report: (fact) => void facts.push(fact) }));
  for (const id of [1, 2, 3]) {
    host.send(enveloped(id, 'tools/call', { name: 'echo' }, { logLevel: 'debug' }));
    await host.answer(id);
  }
  const failed = () => facts.filter(({ name }) => name === 'bridge.log-level-failed');
  await vi.waitFor(() => expect(failed()).toHaveLength(1), { timeout: 60_000 });
  expect(failed()).toMatchObject([{ level: 'warning' }]);
});
