/** How the servers of the connection's contract are reached: each way, with the eras that it has. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { memory } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { ServerEntry } from 'mcp-actors/client';
import type { SdkTransport } from '../../../src/transports/sdk-transport.ts';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';
import { nodeHandler } from '../../http/src/node/index.ts';
import { program } from '../../../test/tooling/programs.ts';
import { firstOfficial, ours, secondOfficial } from './contract-servers.ts';
import type { Shared } from './contract-servers.ts';
import { keptAlive } from '../../http/test/serving.ts';

export interface Way {
  readonly server: string;
  readonly transport: string;
  readonly era: 'legacy' | 'modern';
  /** An entry of a server that nobody else is connected to. What it takes is done at the end, the last first. */
  readonly entry: (atEnd: AtEnd) => ServerEntry | Promise<ServerEntry>;
}

export type AtEnd = (end: () => Promise<unknown>) => void;

/** Listens on loopback until the end. */
async function listening(listener: RequestListener, atEnd: AtEnd): Promise<string> {
  const http = createServer(keptAlive, listener);
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  atEnd(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

const launched = (whose: string) => (): ServerEntry => ({
  command: process.execPath,
  args: [...program('packages/client/test/contract-process.ts'), whose],
});

/** A server in this process. */
function inMemory(server: McpServer): ServerEntry {
  const transport = () => {
    const ends = memory();
    server.listen(ends.transport, { report: () => {} });
    return toSdkTransport(ends.peer);
  };
  return { transport };
}

/** A bridge before a server that it launches. */
const bridged = (whose: string) => () => inMemory(bridge(launched(whose)(), { report: () => {} }));

async function oursOverHttp(atEnd: AtEnd): Promise<ServerEntry> {
  const handler = nodeHandler(ours(), { sse: true });
  const url = await listening(handler, atEnd);
  atEnd(() => handler.close());
  return { url: `${url}/mcp` };
}

async function oursOverSse(atEnd: AtEnd): Promise<ServerEntry> {
  const { url } = (await oursOverHttp(atEnd)) as { readonly url: string };
  return { type: 'sse', url: `${url}/sse` };
}

function officialInMemory(): ServerEntry {
  const transport = () => {
    const [host, server] = InMemoryTransport.createLinkedPair();
    void firstOfficial().connect(server as never);
    return host as unknown as SdkTransport;
  };
  return { transport };
}

/** A transport for each session, of either line of the official SDK. */
interface SessionTransport {
  handleRequest(request: IncomingMessage, response: Parameters<RequestListener>[1]): Promise<void>;
}
type Begin = (
  opened: (id: string, transport: SessionTransport) => void,
) => Promise<SessionTransport>;

async function sessions(begin: Begin, atEnd: AtEnd): Promise<ServerEntry> {
  const open = new Map<string, SessionTransport>();
  const url = await listening((request, response) => {
    const known = open.get(String(request.headers['mcp-session-id']));
    const transport = known ?? begin((id, one) => open.set(id, one));
    void Promise.resolve(transport).then((one) => one.handleRequest(request, response));
  }, atEnd);
  return { url };
}

const firstOverHttp = (atEnd: AtEnd) =>
  sessions(async (opened) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id: string) => opened(id, transport),
    });
    await firstOfficial().connect(transport as never);
    return transport;
  }, atEnd);

const secondOverHttp = (atEnd: AtEnd) =>
  sessions(async (opened) => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => opened(id, transport),
    });
    await secondOfficial({ isGrown: false }).connect(transport);
    return transport;
  }, atEnd);

/** It refuses `initialize`. */
async function secondModernOverHttp(atEnd: AtEnd): Promise<ServerEntry> {
  const shared: Shared = { isGrown: false };
  const handler = createMcpHandler(() => secondOfficial(shared), { legacy: 'reject' });
  shared.changed = () => handler.notify.toolsChanged();
  const url = await listening(toNodeHandler(handler) as unknown as RequestListener, atEnd);
  atEnd(() => handler.close());
  return { url };
}

/** HTTP+SSE, the transport of 2024-11-05. */
async function firstOverSse(atEnd: AtEnd): Promise<ServerEntry> {
  const open = new Map<string, SSEServerTransport>();
  const url = await listening((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (request.method === 'GET' && pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response);
      open.set(transport.sessionId, transport);
      void firstOfficial().connect(transport);
      return;
    }
    const transport = open.get(searchParams.get('sessionId') ?? '');
    if (transport) void transport.handlePostMessage(request, response);
    else response.writeHead(404).end();
  }, atEnd);
  return { type: 'sse', url: `${url}/sse` };
}

const way = (server: string, transport: string, era: Way['era'], entry: Way['entry']): Way => ({
  server,
  transport,
  era,
  entry,
});

export const ways: readonly Way[] = [
  way('ours', 'a transport', 'legacy', () => inMemory(ours())),
  way('ours', 'a transport', 'modern', () => inMemory(ours())),
  way('ours', 'stdio', 'legacy', launched('ours')),
  way('ours', 'stdio', 'modern', launched('ours')),
  way('ours', 'HTTP', 'legacy', oursOverHttp),
  way('ours', 'HTTP', 'modern', oursOverHttp),
  way('ours', 'HTTP+SSE', 'legacy', oursOverSse),
  way('ours', 'a bridge', 'legacy', bridged('ours')),
  way('ours', 'a bridge', 'modern', bridged('ours')),
  way('the official SDK 1', 'a bridge', 'legacy', bridged('official 1')),
  way('the official SDK 1', 'a bridge', 'modern', bridged('official 1')),
  way('the official SDK 2, modern', 'a bridge', 'modern', bridged('official 2, modern only')),
  way('the official SDK 2, modern', 'a bridge', 'legacy', bridged('official 2, modern only')),
  way('the official SDK 1', "the SDK's transport", 'legacy', officialInMemory),
  way('the official SDK 1', 'stdio', 'legacy', launched('official 1')),
  way('the official SDK 1', 'HTTP', 'legacy', firstOverHttp),
  way('the official SDK 1', 'HTTP+SSE', 'legacy', firstOverSse),
  way('the official SDK 2', 'stdio', 'legacy', launched('official 2')),
  way('the official SDK 2', 'HTTP', 'legacy', secondOverHttp),
  way('the official SDK 2, modern only', 'stdio', 'modern', launched('official 2, modern only')),
  way('the official SDK 2, modern only', 'HTTP', 'modern', secondModernOverHttp),
];
