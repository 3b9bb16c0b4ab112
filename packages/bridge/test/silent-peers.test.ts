/** Peers that are gone without a word: what they held is back, and who is there notices nothing. */
import { readFileSync } from 'node:fs';
import { on } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMcpServer, defineTool } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { TestClock, enveloped, toolCall } from 'mcp-actors/testing';
import { expectEmpty } from '../../processes/test/process-table.ts';
import { ask, headersOf } from '../../http/test/modern/modern-client.ts';
import { begin, post } from '../../http/test/raw-client.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { blackHole } from './black-hole.ts';
import { hostOf } from './hosts.ts';

/** How long a step is, milliseconds: shorter than all times that are waited for. */
const stepMs = 5000;

/** A bridge before a server that writes a journal, and the processes that it says have started. */
async function journalled() {
  const folder = await mkdtemp(join(tmpdir(), 'silent-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const journal = join(folder, 'journal');
  const args = [join(import.meta.dirname, 'journal-server.mjs'), journal];
  const server = bridge({ command: process.execPath, args }, { era: 'legacy', report: () => {} });
  const starts = () =>
    readFileSync(journal, 'utf8')
      .split('\n')
      .flatMap((line) => (line.endsWith(' start') ? [Number(line.split(' ')[0])] : []));
  return { server, starts, arrived: () => readFileSync(journal, 'utf8') };
}

test('ends processes of vanished hosts after keepalive and idle time, with and without a stream', async () => {
  const clock = new TestClock();
  const { server, starts } = await journalled();
  const url = await serveHttp(server, {
    ...{ clock, report: () => {} },
    limits: { sessionIdleTimeoutMs: 600_000 },
    session: { limits: { keepaliveIntervalMs: 60_000 }, report: () => {} },
  });
  const network = await blackHole(url);
  const listening = await begin(network.url);
  await listening.get();
  const quiet = await begin(network.url);
  await quiet.request('ping');
  const living = await begin(url);
  const [first, second, third] = starts();
  network.swallow();
  /** Lets time pass; who is there says something now and then. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.increment(stepMs);
      await (await living.request('ping')).text();
    }
  };
  const gone = (pid: number | undefined) =>
    vi.waitFor(() => expectEmpty(Number(pid)), { timeout: 60_000 });
  const isThere = (pid: number | undefined) => () => process.kill(Number(pid), 0);

  await pass(60_000 - stepMs);
  expect(isThere(first)).not.toThrow();
  // Three pings, each with ten seconds for its answer; a minute between them.
  await pass(3 * 70_000 + stepMs);
  await gone(first);
  expect(isThere(second)).not.toThrow();
  await pass(600_000);
  await gone(second);
  expect(isThere(third)).not.toThrow();
  expect((await living.request('tools/list')).status).toBe(200);
});

test.each(['before', 'after'] as const)(
  'keeps the process of a host that disappears %s its call has become a stream for sessionIdleTimeoutMs',
  async (when) => {
    const clock = new TestClock();
    const { server, starts, arrived } = await journalled();
    const url = await serveHttp(server, {
      ...{ clock, report: () => {} },
      limits: {
        sessionIdleTimeoutMs: 600_000,
        streamAfterMs: when === 'before' ? 100_000_000 : 15_000,
      },
    });
    const living = await begin(url);
    const host = await begin(url);
    const left = new AbortController();
    const call = toolCall(1, 'act', { mark: 'left', steps: ['stay'] });
    const response = post(url, call, host.headers, left.signal);
    const [, pid] = starts();
    await vi.waitFor(() => expect(arrived()).toContain('left'), { timeout: 60_000 });
    if (when === 'after') {
      clock.increment(20_000);
      await response;
    } else {
      // The client waits, so that the process is kept for as long as that takes.
      clock.increment(900_000);
      expect(() => process.kill(Number(pid), 0)).not.toThrow();
    }
    left.abort();
    await response.catch(() => {});
    // No longer: an hour later, the limits of the call itself end the process.
    for (let passedMs = 0; passedMs < 720_000; passedMs += 60_000) {
      await (await living.request('ping')).text();
      clock.increment(60_000);
    }
    await vi.waitFor(() => expectEmpty(Number(pid)), { timeout: 100_000 });
  },
);

test('keeps the process of a listening 2026-07-28 host until its connection is dropped', async () => {
  const clock = new TestClock();
  const { server, starts } = await journalled();
  const session = { clock, report: () => {} };
  const url = await serveHttp(server, { clock, report: () => {}, session });
  const socket = connect(Number(url.port), url.hostname);
  onTestFinished(() => void socket.destroy());
  const listen = enveloped(1, 'subscriptions/listen', {
    notifications: { toolsListChanged: true },
  });
  const body = JSON.stringify(listen);
  const headers = { ...headersOf(listen as never), 'content-length': body.length, host: url.host };
  const lines = Object.entries({ ...headers, accept: '*/*', 'content-type': 'application/json' });
  socket.write(
    `POST /mcp HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`,
  );
  socket.write(body);
  for await (const [chunk] of on(socket, 'data')) {
    if (String(chunk).includes('acknowledged')) break;
  }
  const [pid, ...others] = starts();
  // Longer than a process is kept that nobody needs. What is written meanwhile has to be taken.
  for (let passed = 0; passed < 600_000; passed += 2 * stepMs) {
    clock.increment(2 * stepMs);
    await (await fetch(url)).text();
  }
  expect((await ask(url, 'tools/list')).status).toBe(200);
  expect([starts(), others]).toEqual([[pid], []]);
  // As the system does that has sent comments again for long enough.
  socket.resetAndDestroy();
  await vi.waitFor(
    () => {
      clock.increment(60_000);
      return expectEmpty(Number(pid));
    },
    { timeout: 60_000 },
  );
});

test("reopens each server's stream once after system sleep", async () => {
  const clock = new TestClock();
  const change = defineTool({
    name: 'change',
    description: 'Says that something has changed',
    handler: (_, { session }) => {
      session.notify('notifications/test/changed', { name: 'it' });
      return 'said';
    },
  });
  const networks = await Promise.all(
    ['a', 'b', 'c'].map(async (name) =>
      blackHole(await serveHttp(createMcpServer({ name, version: '1', tools: [change] }))),
    ),
  );
  const mcpServers = Object.fromEntries(
    networks.map(({ url }, at) => [`s${at}`, { url: url.href, era: 'legacy' }]),
  );
  const options = { clock, patienceMs: 60_000, report: () => {} };
  const host = await hostOf('legacy', bridge({ mcpServers }, options));
  onTestFinished(() => host.close());
  /** Resolves once what belongs to no request has come. */
  const hear = async (at: number) => {
    const heard = host.next('notifications/test/changed');
    await host.callTool(`s${at}__change`);
    await heard;
  };
  for (const at of networks.keys()) await hear(at);
  for (const network of networks) network.swallow();
  // Its timers are much too late.
  clock.increment(3_600_000);
  expect(networks.map(({ streams }) => streams)).toEqual([0, 0, 0]);
  clock.increment(2000);
  for (const at of networks.keys()) await hear(at);
  clock.increment(50_000);
  for (const at of networks.keys()) await hear(at);
  expect(networks.map(({ streams }) => streams)).toEqual([1, 1, 1]);
});

test('resubscribes once at a 2026-07-28 server after system sleep', async () => {
  const clock = new TestClock();
  const server = createMcpServer({ name: 'a', version: '1', tools: [] });
  let asked = 0;
  server.use((call, next) => {
    if (call.method === 'subscriptions/listen') asked++;
    return next();
  });
  const url = await serveHttp(server);
  const options = { clock, patienceMs: 60_000, report: () => {} };
  const host = await hostOf('modern', bridge({ mcpServers: { s: { url: url.href } } }, options));
  onTestFinished(() => host.close());
  await host.request('tools/list');
  await vi.waitFor(() => expect(asked).toBe(1), { timeout: 60_000 });
  clock.increment(3_600_000);
  clock.increment(2000);
  await vi.waitFor(() => expect(asked).toBe(2), { timeout: 60_000 });
  clock.increment(50_000);
  await host.request('tools/list');
  expect(asked).toBe(2);
});
