/** The transport of 2024-11-05: chosen, or found behind a refused handshake. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { serveHttp } from '../../../http/test/serving.ts';
import { flush } from 'mcp-actors/testing';
import { HttpHost, errorOf } from './http-host.ts';
import { Poured, anywhere, jsonOf, scriptedFetch } from './scripted-fetch.ts';
import { scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

/** The official SDK's server of this transport. */
async function officialServer(): Promise<URL> {
  const transports = new Map<string, SSEServerTransport>();
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') {
      const server = new McpServer({ name: 'official', version: '1' });
      server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hi' }] }));
      const transport = new SSEServerTransport('/messages', response);
      transports.set(transport.sessionId, transport);
      void server.connect(transport);
    } else if (request.method === 'POST' && url.pathname === '/messages') {
      const transport = transports.get(url.searchParams.get('sessionId') ?? '');
      void transport?.handlePostMessage(request, response);
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  });
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`);
}

/** Begins the stream and names an endpoint. */
function named({ response }: Scripted, endpoint: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
}

describe('the transport of 2024-11-05', () => {
  test.each(['sse', 'http'] as const)('serves a host that asks for "%s"', async (type) => {
    const host = new HttpHost({ type, url: (await officialServer()).href });
    await host.told('channel.opened');
    if (type === 'http') expect(errorOf(await host.ask('server/discover')).status).toBe(404);
    expect(await host.greet()).toMatchObject({ result: { serverInfo: { name: 'official' } } });
    expect(await host.request('tools/call', { name: 'hello' })).toMatchObject({
      result: { content: [{ text: 'hi' }] },
    });
  });

  test('of our own server works too', async () => {
    const url = await serveHttp(laboratory, { sse: true });
    const host = new HttpHost({ type: 'sse', url: `${url.href}/sse` });
    await host.told('channel.opened');
    expect(await host.greet()).toMatchObject({ result: { serverInfo: { name: 'lab' } } });
  });

  test('is lost with its stream', async () => {
    let stream: Scripted | undefined = undefined;
    const server = await scriptedServer((asked) => {
      stream = asked;
      named(asked, '/messages');
    });
    const host = new HttpHost({ type: 'sse', url: server.url.href });
    await host.told('channel.opened');
    (stream as Scripted | undefined)?.response.end();
    const { loss } = await host.told('channel.lost');
    expect(loss).toMatchObject({ kind: 'unreachable' });
    expect((loss as { error: Error }).error.message).toBe(
      'The stream of the stream of events was cut before it was complete: the connection ended',
    );
  });

  /** A host of that transport, its stream, and what is asked beside that. */
  function streaming(type: 'sse' | 'http' = 'sse', refusal = jsonOf({}, 404)) {
    const stream = new Poured();
    const { asked, fetch } = scriptedFetch((one) => {
      if (one.method === 'GET') return stream.answer();
      const isRefused = one.message?.method === 'initialize' && asked.length < 3;
      return isRefused ? refusal : new Response(null, { status: 202 });
    });
    const host = new HttpHost({ ...anywhere, type }, { fetch });
    return { host, stream, asked };
  }

  test('is lost with its stream also where it was found behind a refused handshake', async () => {
    const { host, stream } = streaming('http');
    void host.initialize();
    await flush();
    stream.write('event: endpoint\ndata: /messages\n\n');
    await flush();
    stream.end();
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'unreachable' } });
  });

  test('begins with its endpoint: other events before it are none, and there is no second one', async () => {
    const { host, stream, asked } = streaming();
    stream.write(': hello\n\n');
    await flush();
    stream.write('event: ping\ndata: /no\n\nevent: endpoint\ndata: /messages\n\n');
    await host.told('channel.opened');
    stream.write('event: endpoint\ndata: /no\n\n');
    stream.event({ jsonrpc: '2.0', method: 'notifications/message' });
    await host.heard.first(() => true);
    expect(await host.tell('notifications/x')).toBe('taken');
    expect(asked.map(({ url }) => url.pathname)).toEqual(['/mcp', '/messages']);
    expect(host.reports.all).toHaveLength(1);
  });

  test.each<[what: string, begin: string, message: RegExp]>([
    ['a message', 'data: {}\n\n', /must begin with an "endpoint" event, got a message$/],
    [
      'an endpoint elsewhere, and a message',
      'event: endpoint\ndata: http://b/\n\ndata: {}\n\n',
      /must name an endpoint at .*, got "http:\/\/b\/"/,
    ],
  ])('that begins with %s is refused once, and read no further', async (_, begin, message) => {
    const { host, stream } = streaming();
    stream.write(begin);
    await stream.letGo;
    await flush();
    expect(host.reports.all).toMatchObject([
      { type: 'channel.lost', loss: { kind: 'refused', error: { code: 'PROTOCOL_VIOLATION' } } },
    ]);
    const [{ loss }] = host.reports.all as unknown as [{ loss: { error: Error } }];
    expect(loss.error.message).toMatch(message);
  });

  test('is not looked for if it is what refuses the handshake', async () => {
    const { host, stream, asked } = streaming('sse', new Response('Full', { status: 400 }));
    stream.write('event: endpoint\ndata: /messages\n\n');
    await host.told('channel.opened');
    const { message, status } = errorOf(await host.initialize());
    expect(status).toBe(400);
    const { loss } = await host.told('channel.lost');
    expect(loss).toEqual({ kind: 'http', status: 400, message });
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'POST']);
  });

  test('is looked for also behind a refusal in JSON', async () => {
    const error = { code: -32_000, message: 'Not here' };
    const { host, asked } = streaming('http', jsonOf({ jsonrpc: '2.0', id: null, error }, 404));
    void host.initialize();
    await flush();
    expect(asked.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  test('hears of a request that it has taken, and that is cancelled then', async () => {
    const { host, stream, asked } = streaming();
    stream.write('event: endpoint\ndata: /messages\n\n');
    await host.told('channel.opened');
    host.channel.send({ type: 'channel.negotiated', revision: '2024-11-05' });
    void host.request('tools/call', {}, 7);
    await flush();
    host.cancel(7);
    await flush();
    expect(asked.at(-1)?.message?.method).toBe('notifications/cancelled');
  });

  test.each([
    ['another origin', 'http://127.0.0.2:1/messages'],
    ['nothing', 'http://['],
  ])('has no endpoint on %s: nothing is sent there', async (_, endpoint) => {
    const server = await scriptedServer((asked) => named(asked, endpoint));
    const host = new HttpHost({ type: 'sse', url: server.url.href });
    const { loss } = await host.told('channel.lost');
    expect(loss).toMatchObject({ kind: 'refused' });
    expect((loss as { error: Error }).error.message).toContain(`, got "${endpoint}"`);
  });

  test('is looked for once the handshake is refused; if it is not there, that refusal is told', async () => {
    const server = await scriptedServer((asked) =>
      asked.text(asked.method === 'GET' ? 'nothing' : 'no such page', 'text/plain', 404),
    );
    const host = new HttpHost({ url: server.url.href });
    const error = errorOf(await host.initialize());
    expect([error.code, error.status]).toEqual(['HTTP_STATUS', 404]);
    expect(error.message).toContain('no such page');
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'http', status: 404 } });
    expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  test('a message that its endpoint refuses has failed', async () => {
    const server = await scriptedServer((asked) =>
      asked.method === 'GET'
        ? named(asked, '/messages?s=1')
        : asked.text('busy', 'text/plain', 400),
    );
    const host = new HttpHost({ type: 'sse', url: server.url.href });
    await host.told('channel.opened');
    expect(errorOf(await host.request('ping'))).toMatchObject({ code: 'HTTP_STATUS', status: 400 });
    expect(server.asked.at(-1)?.path).toBe('/messages?s=1');
  });
});
