/** A server that is lost in mid-call: it is greeted once, and what arrives at it is counted by itself, over all its lives. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { scriptedConversation, toolCall } from 'mcp-actors/testing';
import { readHostsFile } from 'mcp-actors/client';
import type { ServerEntry, WatchedConnection } from 'mcp-actors/client';

const server = join(import.meta.dirname, 'journal-server.mjs');
let journal = '';

beforeEach(async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'restarts-'));
  journal = join(folder, 'journal');
  writeFileSync(journal, '');
  context.onTestFinished(() => rm(folder, { recursive: true }));
});

/** What has arrived, without the process that it arrived at. */
const arrived = () =>
  readFileSync(journal, 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ').slice(1).join(' ') || []);
const count = (what: string) => arrived().filter((line) => line === what).length;
const reached = (what: string) => expect.poll(() => count(what), { interval: 5 }).toBe(1);

async function hosted(entry: ServerEntry, options: BridgeOptions) {
  const restart = { initialMs: 1, maxMs: 1 };
  const bridged = bridge(entry, { era: 'legacy', restart, report: () => {}, ...options });
  const { peer, session } = scriptedConversation(bridged);
  onTestFinished(async () => {
    peer.end();
    await session.closed;
  });
  await peer.handshake();
  return peer;
}

const launched = () => ({ command: process.execPath, args: [server, journal] });
const lost = {
  code: -32000,
  data: { reason: 'upstream-failed', retryable: false, code: 'CLOSED' },
};
const waiting = Array.from({ length: 20 }, (_, at) => at + 100);

describe.each(['session', 'shared'] as const)('a process that dies, with share: %s', (share) => {
  test.each(['never', 'reads'] as const)('and retry: %s', async (retry) => {
    const peer = await hosted(launched(), { share, retry });
    await peer.ask('tools/list');
    if (retry === 'reads') await expect.poll(() => count('tools/list')).toBe(2);
    for (const [id, tool] of [
      [1, 'act'],
      [2, 'look'],
    ] as const)
      peer.send(toolCall(id, tool, { mark: `sent-${tool}`, steps: ['once'] }));
    await reached('tools/call sent-act');
    await reached('tools/call sent-look');
    const { pid } = JSON.parse(readFileSync(`${journal}.pid`, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    expect(await peer.error(1)).toMatchObject(lost);
    peer.send(...waiting.map((id) => toolCall(id, 'act', { mark: `waited-${id}` })));
    for (const id of waiting) expect(await peer.response(id)).toHaveProperty('result');
    for (const id of waiting) expect(count(`tools/call waited-${id}`)).toBe(1);
    if (retry === 'reads') expect(await peer.response(2)).toHaveProperty('result');
    else expect(await peer.error(2)).toMatchObject(lost);
    expect(count('tools/call sent-act')).toBe(1);
    expect(count('tools/call sent-look')).toBe(retry === 'reads' ? 2 : 1);
    expect([count('start'), count('initialize')]).toEqual([2, 2]);
  });
});

/** The server in a file. */
async function inFile(entry: object) {
  const file = `${journal}.json`;
  writeFileSync(file, JSON.stringify({ mcpServers: { s: entry } }));
  return readHostsFile(file);
}

describe.each([
  ['alone', async (entry: object) => entry, '', {}, ['its connection']],
  ['alone of a file', inFile, '', { server: 's' }, ['its connection', 'another connection']],
  ['among many', inFile, 's__', {}, ['its connection', 'another connection']],
] as const)('a server that restarts, %s', (_, sourceOf, prefix, options, starts) => {
  test.each(starts)(
    'with %s, gets subscriptions and log level again, and its lists are announced',
    async (how) => {
      const restart = how === 'its connection' ? { initialMs: 1, maxMs: 1 } : ('none' as const);
      const source = (await sourceOf(launched())) as ServerEntry;
      const peer = await hosted(source, { restart, patienceMs: 60_000, ...options });
      await peer.ask('resources/list');
      await peer.ask('resources/subscribe', { uri: 'test://watched' });
      await peer.ask('logging/setLevel', { level: 'error' });
      const { pid } = JSON.parse(readFileSync(`${journal}.pid`, 'utf8')) as { pid: number };
      process.kill(pid, 'SIGKILL');
      await peer.notification('notifications/tools/list_changed');
      await expect.poll(() => count('start'), { timeout: 60_000 }).toBe(2);
      // A server that is tried again later refuses until then.
      await expect
        .poll(
          () => peer.call(`${prefix}act`, { mark: 'm', steps: ['log', 'update'] }).catch(() => {}),
          { timeout: 60_000 },
        )
        .toBeDefined();
      await peer.notification('notifications/resources/updated');
      expect([count('resources/subscribe'), count('logging/setLevel')]).toEqual([2, 2]);
    },
  );
});

/** A server over HTTP that is told when to forget its sessions, and how it says so. */
async function remote() {
  let session = 0;
  let forgotten: 404 | 410 | undefined;
  const http = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(text) as {
        id?: number;
        method: string;
        params: { arguments: { mark: string } };
      };
      const isGreeting = method === 'initialize';
      if (!isGreeting && request.headers['mcp-session-id'] !== String(session)) {
        return response.writeHead(forgotten ?? 400).end();
      }
      appendFileSync(
        journal,
        `0 ${method}${params?.arguments ? ` ${params.arguments.mark}` : ''}\n`,
      );
      if (id === undefined) return response.writeHead(202).end();
      const headers = {
        'content-type': 'application/json',
        'mcp-session-id': String(isGreeting ? ++session : session),
      };
      const greeting = {
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'remote', version: '1' },
        capabilities: { tools: {} },
      };
      const result = isGreeting ? greeting : { content: [] };
      return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  const listen = (port: number) =>
    new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
  const close = () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    return closed;
  };
  await listen(0);
  onTestFinished(async () => void (await close()));
  const { port } = http.address() as AddressInfo;
  return {
    entry: { url: `http://127.0.0.1:${port}/mcp` },
    forget: (status: 404 | 410) => {
      session++;
      forgotten = status;
    },
    down: close,
    up: () => listen(port),
  };
}

describe('a remote server that restarts', () => {
  test.each([404, 410] as const)(
    'gets one new initialize after answering a session with %d',
    async (status) => {
      const { entry, forget } = await remote();
      const peer = await hosted(entry, {});
      peer.send(toolCall(1, 'act', { mark: 'before' }));
      await peer.response(1);
      forget(status);
      peer.send(...waiting.map((id) => toolCall(id, 'act', { mark: `waited-${id}` })));
      for (const id of waiting) expect(await peer.response(id)).toHaveProperty('result');
      for (const id of waiting) expect(count(`tools/call waited-${id}`)).toBe(1);
      expect(count('initialize')).toBe(2);
    },
  );

  test('gets one initialize and all calls after its port refused connections', async () => {
    const refused = [1, 2, 3, 4];
    const { entry, down, up } = await remote();
    const states: string[] = [];
    const watchers = [
      ({ actor }: WatchedConnection) => {
        actor.subscribe((snapshot) =>
          states.push(JSON.stringify((snapshot as { value?: unknown }).value)),
        );
      },
    ];
    const peer = await hosted(entry, { watchers });
    await down();
    // All are refused, and the server is known to be away from then on.
    peer.send(...refused.map((id) => toolCall(id, 'act', { mark: `refused-${id}` })));
    await expect.poll(() => states.join(), { interval: 5 }).toContain('backoff');
    peer.send(...waiting.map((id) => toolCall(id, 'act', { mark: `waited-${id}` })));
    await up();
    for (const id of refused) expect(await peer.response(id)).toMatchObject({ result: {} });
    for (const id of refused) expect(count(`tools/call refused-${id}`)).toBe(1);
    for (const id of waiting) expect(await peer.response(id)).toMatchObject({ result: {} });
    for (const id of waiting) expect(count(`tools/call waited-${id}`)).toBe(1);
    expect(count('initialize')).toBe(2);
  });
});
