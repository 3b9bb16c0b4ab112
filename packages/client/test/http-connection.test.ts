/** A host's connection to servers over HTTP: ours, in both eras, and the official SDK's. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { filter, firstValueFrom } from 'rxjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import { keptAlive, serveHttp } from '../../http/test/serving.ts';
import { greeted, scriptedServer } from './http/scripted-server.ts';

async function connected(url: URL | string, options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect({ url: String(url) }, { report: () => {}, ...options });
  onTestFinished(() => connection.close());
  return connection;
}

/** A server of the official SDK, with or without sessions. */
async function officialServer(sessions: boolean): Promise<string> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const made = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new McpServer({ name: 'official', version: '1' });
    server.registerTool('shout', { inputSchema: { text: z.string() } }, ({ text }) => ({
      content: [{ type: 'text', text: text.toUpperCase() }],
    }));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: sessions ? () => crypto.randomUUID() : undefined,
      onsessioninitialized: (id: string) => void transports.set(id, transport),
    } as never);
    await server.connect(transport as never);
    return transport;
  };
  const http = createServer(keptAlive, (request, response) => {
    const known = transports.get(String(request.headers['mcp-session-id']));
    void (known ? Promise.resolve(known) : made()).then((transport) =>
      transport.handleRequest(request, response),
    );
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

describe.each(['modern', 'legacy'] as const)('a connection over HTTP, %s', (era) => {
  test('to a server of ours', async () => {
    const connection = await connected(await serveHttp(laboratory), { era });
    expect(connection.server).toMatchObject({ era, info: { name: 'lab' } });
    const { content } = await connection.callTool('echo', { message: 'hi' });
    expect(content).toMatchObject([{ text: 'hi' }]);
    expect((await connection.listTools()).map(({ name }) => name)).toContain('echo');
  });

  test('answers what the server asks', async () => {
    const connection = await connected(await serveHttp(laboratory), {
      era,
      elicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
    });
    const args = { kind: 'elicitation', count: 3, concurrent: true };
    const { structuredContent } = await connection.callTool('ask', args);
    expect(structuredContent).toEqual({ succeeded: 3, failed: 0, failures: [] });
  });
});

describe('the era of a server over HTTP', () => {
  test('of both is the modern one', async () => {
    const connection = await connected(await serveHttp(laboratory));
    expect(connection.server?.era).toBe('modern');
  });

  test('that one host wants to be legacy is not taken to be for another', async () => {
    const url = await serveHttp(laboratory);
    expect((await connected(url, { era: 'legacy' })).server?.era).toBe('legacy');
    expect((await connected(url)).server?.era).toBe('modern');
  });

  test.each([true, false])('of the official SDK 1 is legacy (sessions: %s)', async (sessions) => {
    const connection = await connected(await officialServer(sessions));
    expect(connection.server).toMatchObject({ era: 'legacy', info: { name: 'official' } });
    const { content } = await connection.callTool('shout', { text: 'hi' });
    expect(content).toMatchObject([{ text: 'HI' }]);
  });

  test.each(['text/html', 'application/json'])(
    'that answers what it does not know with a page is legacy (%s)',
    async (type) => {
      const server = await scriptedServer((asked) => {
        if (asked.message?.method === 'server/discover') return asked.text('<p>?</p>', type, 200);
        return greeted(asked) || asked.result();
      });
      expect((await connected(server.url)).server?.era).toBe('legacy');
    },
  );

  test('that answers everything with an empty result is legacy', async () => {
    const server = await scriptedServer((asked) => greeted(asked) || asked.result());
    expect((await connected(server.url)).server?.era).toBe('legacy');
  });

  test('is not shown by a server that fails: that is the error', async () => {
    const server = await scriptedServer((asked) => asked.text('down', 'text/plain', 503));
    const options: ConnectOptions = { restart: 'none' };
    await expect(connected(server.url, options)).rejects.toMatchObject({
      code: 'HTTP_STATUS',
      status: 503,
    });
  });
});

test('a server that wants to be left alone is tried again when it says so, within a minute', async () => {
  const waits: [said: string, delayMs: number][] = [
    ['7', 7000],
    ['100000', 60_000],
  ];
  for (const [said, delayMs] of waits) {
    const server = await scriptedServer((asked) => {
      asked.json({}, 429, { 'retry-after': said });
    });
    const connection = openConnection({ url: server.url.href }, { report: () => {} });
    onTestFinished(() => connection.close());
    const state = await firstValueFrom(
      connection.state$.pipe(filter(({ value }) => value === 'backoff')),
    );
    expect(state).toMatchObject({ delayMs, loss: { kind: 'http', status: 429 } });
  }
});

test('requests that met a forgotten session are sent again in the next one, once [HOST-08]', async () => {
  let session = 1;
  const server = await scriptedServer((asked) => {
    if (asked.message?.method === 'server/discover') return asked.text('', '', 400);
    if (greeted(asked, `s-${session}`)) return undefined;
    if (asked.headers['mcp-session-id'] !== `s-${session}`) return asked.text('', '', 404);
    return asked.result({ session, nth: asked.message?.params?.['nth'] });
  });
  const connection = await connected(server.url);
  expect(await connection.request('x/first')).toEqual({ session: 1 });
  session = 2;
  const requests = Array.from({ length: 20 }, (_, nth) => connection.request('x/more', { nth }));
  const expected = requests.map((_, nth) => ({ session: 2, nth }));
  expect(await Promise.all(requests)).toEqual(expected);
  const greetings = server.asked.filter(({ message }) => message?.method === 'initialize');
  expect(greetings).toHaveLength(2);
});

test('a request that finds nobody there waits until the server is back', async () => {
  const script: Parameters<typeof scriptedServer>[0] = (asked) => {
    // Over a connection that is kept, a request may have arrived for all that anybody knows.
    asked.response.setHeader('connection', 'close');
    return greeted(asked) || asked.result({ at: asked.message?.params?.['at'] });
  };
  const server = await scriptedServer(script);
  const restart = { initialMs: 1, maxMs: 20, maxAttempts: Infinity };
  const connection = await connected(server.url, { restart });
  expect(await connection.request('x/call', { at: 1 })).toEqual({ at: 1 });
  await server.stop();
  const waiting = connection.request('x/call', { at: 2 });
  const lost = await firstValueFrom(
    connection.state$.pipe(filter(({ value }) => value === 'backoff')),
  );
  expect(lost.loss).toMatchObject({ kind: 'unreachable' });
  await scriptedServer(script, Number(server.url.port));
  expect(await waiting).toEqual({ at: 2 });
});

test('a call to a modern server that was away tries at once, and nobody is ready meanwhile', async () => {
  const script: Parameters<typeof scriptedServer>[0] = (asked) => {
    asked.response.setHeader('connection', 'close');
    const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const supportedVersions = ['2026-07-28'];
    const isProbe = asked.message?.method === 'server/discover';
    return asked.result(isProbe ? { ...hints, supportedVersions, capabilities: {} } : hints);
  };
  const server = await scriptedServer(script);
  // By itself it would not be tried again while this test runs.
  const restart = { initialMs: 3_600_000, maxMs: 3_600_000 };
  const connection = await connected(server.url, { restart });
  await server.stop();
  const seen: string[] = [];
  const first = connection.request('x/call');
  const backoff = () =>
    firstValueFrom(connection.state$.pipe(filter(({ value }) => value === 'backoff')));
  await backoff();
  connection.state$.subscribe(({ value }) => seen.push(value));
  const second = connection.request('x/call');
  expect(connection.state.value).toBe('connecting');
  await backoff();
  expect(seen).toEqual(['backoff', 'connecting', 'lost', 'backoff']);
  await scriptedServer(script, Number(server.url.port));
  await connection.request('x/call');
  await Promise.all([first, second]);
  expect(seen).toEqual([...seen.slice(0, 4), 'connecting', 'ready']);
  expect(seen[3]).toBe('backoff');
});

test('a URL is tried without end', async () => {
  const server = await scriptedServer((asked) => greeted(asked) || asked.result());
  const { port } = server.url;
  await server.stop();
  const restart = { initialMs: 1, maxMs: 1, stableMs: 3_600_000 };
  const url = `http://127.0.0.1:${port}/mcp`;
  const connection = openConnection({ url }, { report: () => {}, restart });
  onTestFinished(() => connection.close());
  const tried = connection.state$.pipe(filter(({ attempt }) => attempt === 25));
  expect((await firstValueFrom(tried)).value).not.toBe('failed');
});

test('a call that may have been served is not sent again', async () => {
  const server = await scriptedServer((asked) => {
    if (asked.message?.method !== 'x/call') return greeted(asked) || asked.result();
    return asked.response.socket?.destroy();
  });
  const connection = await connected(server.url);
  await expect(connection.request('x/call')).rejects.toMatchObject({ code: 'CLOSED' });
  expect(connection.state.value).toBe('ready');
  const calls = server.asked.filter(({ message }) => message?.method === 'x/call');
  expect(calls).toHaveLength(1);
});
