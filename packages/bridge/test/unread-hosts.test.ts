/** Hosts that stop reading: what waits for each is bounded, and other hosts of the server are served. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Fact, JsonObject, McpServer } from 'mcp-actors';
import { createMcpServer, defineTool, stdio } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { enveloped, initialize } from 'mcp-actors/testing';
import { serveHttp } from '../../http/test/serving.ts';

const flooding = join(import.meta.dirname, 'flooding-server.mjs');
const KiB = 1024;
const limits = { maxOutboundBytes: 64 * KiB, readAheadBytes: 64 * KiB };
const launched = (era = 'legacy') => ({ command: process.execPath, args: [flooding, era] });
const silent = { report: () => {} };

/** A host over a pair of streams that reads only what the test takes. */
function hosted(server: McpServer) {
  const input = new PassThrough();
  const output = new PassThrough({ highWaterMark: 16 * KiB });
  const facts: string[] = [];
  const report = ({ name }: Fact) => void facts.push(name);
  const session = server.listen(stdio({ input, output }), { limits, report });
  onTestFinished(async () => {
    output.resume();
    input.end();
    await session.closed;
  });
  let rest = '';
  const send = (message: object) => void input.write(`${JSON.stringify(message)}\n`);
  return {
    facts,
    session,
    send,
    get waiting() {
      return session.dump().queues.outboundBytes.count;
    },
    /** Reads at most 1 KiB, so that a server outruns it. */
    read(): readonly JsonObject[] {
      rest += String((output.read(KiB) as Buffer | null) ?? output.read() ?? '');
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      return lines.map((line) => JSON.parse(line) as JsonObject);
    },
    /** Reads slowly until the answer to a request has come. */
    async until(id: number, each: (message: JsonObject) => void = () => {}) {
      for (;;) {
        for (const message of this.read()) {
          each(message);
          if (message['id'] === id) return message;
        }
        await setImmediate();
      }
    },
    blocked: () => vi.waitFor(() => expect(facts).toContain('output.blocked'), { timeout: 60_000 }),
  };
}

type Hosted = ReturnType<typeof hosted>;

/** Calls a tool as a host of an era, once the handshake is done. */
async function call(host: Hosted, era: string, name: string, args: JsonObject = {}, own = 'a') {
  const _meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
  const params = { name, arguments: args, _meta };
  if (era === 'legacy') {
    host.send(initialize(1));
    await host.until(1);
    host.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return host.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
  }
  const clientInfo = { name: own, version: '1' };
  host.send(enveloped(2, 'tools/call', params, { clientInfo, capabilities: {} }));
}

/** A server over HTTP that floods whoever calls it. */
async function remote() {
  const flood = defineTool({
    name: 'flood',
    description: 'Logs without end',
    handler: async (_, context) => {
      for (let n = 1; n <= 4000; n++) {
        context.notify('notifications/message', {
          level: 'error',
          data: `${n} ${'x'.repeat(1000)}`,
        });
        if (n % 10 === 0) await setImmediate();
      }
      return 'flooded';
    },
  });
  const server = createMcpServer({ name: 'remote', version: '1', tools: [flood], logging: {} });
  const url = await serveHttp(server, {
    ...silent,
    limits: { maxUnreadBytes: 64 * 1024 * KiB },
  });
  return { url: url.href };
}

const numbers = (messages: readonly JsonObject[]) =>
  messages.flatMap(({ method, params }) =>
    method === 'notifications/message'
      ? [Number.parseInt(String((params as JsonObject)['data']), 10)]
      : [],
  );

describe('a host that stops reading pauses its own server', () => {
  const servers: [string, () => Promise<[string, McpServer]>][] = [
    [
      'one launched',
      async () => ['flood', bridge(launched(), { limits, ...silent } as BridgeOptions)],
    ],
    [
      'one of many launched',
      async () => [
        'a__flood',
        bridge({ mcpServers: { a: launched(), b: launched() } }, {
          limits,
          ...silent,
        } as BridgeOptions),
      ],
    ],
    [
      'one over HTTP',
      async () => ['flood', bridge(await remote(), { limits, ...silent } as BridgeOptions)],
    ],
  ];
  for (const [what, made] of servers)
    for (const era of ['legacy', 'modern'])
      test(`${what}, for a host of the ${era} era`, async () => {
        const [tool, server] = await made();
        const host = hosted(server);
        await call(host, era, tool);
        await host.blocked();
        let most = 0;
        const read: JsonObject[] = [];
        await host.until(2, (message) => {
          most = Math.max(most, host.waiting);
          read.push(message);
        });
        // Nothing is lost, and nothing overtakes.
        expect(numbers(read)).toEqual(Array.from({ length: 4000 }, (_, at) => at + 1));
        // What waits, what is read ahead, and what the server's pipe and the reader hold.
        expect(most).toBeLessThan(512 * KiB);
      }, 60_000);
});

describe('a host that stops reading a shared server', () => {
  const shared = () =>
    bridge(launched('modern'), { ...{ limits, ...silent }, share: 'shared' } as BridgeOptions);

  test('loses progress, and other hosts are served', async () => {
    const server = shared();
    onTestFinished(() => server.close());
    const slow = hosted(server);
    await call(slow, 'modern', 'flood');
    const other = hosted(server);
    await slow.blocked();
    await call(other, 'modern', 'big');
    expect(await other.until(2)).toHaveProperty('result.content.0.text', 'yyyyyyyyy');
    let progress = 0;
    const answer = await slow.until(2, ({ method }) => {
      expect(slow.waiting).toBeLessThan(256 * KiB);
      if (method === 'notifications/progress') progress++;
    });
    expect(answer).toHaveProperty('result.content.0.text', 'flooded');
    expect(progress).toBeLessThan(4000);
  }, 60_000);

  test('is disconnected past its limit of unread output, and other hosts are served', async () => {
    const server = shared();
    onTestFinished(() => server.close());
    const slow = hosted(server);
    const other = hosted(server);
    const bytes = 40 * KiB;
    for (let id = 1; id <= 20; id++)
      slow.send(enveloped(id, 'tools/call', { name: 'big', arguments: { bytes } }));
    expect(await slow.session.closed).toMatchObject({ kind: 'shutdown' });
    await call(other, 'modern', 'big');
    expect(await other.until(2)).toHaveProperty('result.content.0.text', 'yyyyyyyyy');
  }, 60_000);

  test('cannot fill the queue of a slow server alone, so others are served', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unread-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const until = join(folder, 'go on');
    const server = shared();
    onTestFinished(() => server.close());
    const greedy = hosted(server);
    const other = hosted(server);
    await call(other, 'modern', 'big');
    await other.until(2);
    greedy.send(enveloped(0, 'tools/call', { name: 'stall', arguments: { until } }));
    const padding = 'z'.repeat(30 * KiB);
    for (let id = 1; id <= 20; id++)
      greedy.send(enveloped(id, 'tools/call', { name: 'big', arguments: { padding } }));
    expect(await greedy.until(20)).toHaveProperty('error.data', {
      reason: 'overloaded',
      retryable: true,
    });
    await call(other, 'modern', 'big');
    await writeFile(until, '');
    expect(await other.until(2)).toHaveProperty('result.content.0.text', 'yyyyyyyyy');
  }, 60_000);
});
