/** Servers on real sockets, and official clients. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { createMcpServer } from '../../../src/index.ts';
import type { ServerDefinition, Tool } from '../../../src/index.ts';
import type { Fact } from '../../../src/actors/facts.ts';
import type { HttpOptions, ServerFactory } from '../src/index.ts';
import { nodeHandler } from '../src/node/index.ts';
import type { Negotiation } from '../../../test/e2e/both-eras-client.ts';

/**
 * Disables Node's five-second keep-alive timeout: a worker stalled that long on a busy machine
 * would lose its next request.
 */
export const keptAlive = { keepAliveTimeout: 0 } as const;

/** Listens on loopback until the test ends. */
export async function serveHttp(server: ServerFactory, options: HttpOptions = {}): Promise<URL> {
  return (await serveEndpoint(server, options)).url;
}

/**
 * Like {@link serveHttp}, but can be ended earlier: `close` keeps the socket listening, `kill` only
 * ends the connections.
 *
 * @param options may depend on the URL
 */
export async function serveEndpoint(
  server: ServerFactory,
  options: HttpOptions | ((url: URL) => HttpOptions) = {},
): Promise<{ readonly url: URL; close(): Promise<void>; kill(): void }> {
  const http = createServer(keptAlive);
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const given = typeof options === 'function' ? options(url) : options;
  const node = given.stores ? { node: { url: url.href, ...given.node } } : {};
  const handler = nodeHandler(server, { ...given, ...node });
  http.on('request', handler);
  onTestFinished(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    await handler.close();
    http.closeAllConnections();
    await closed;
  });
  const kill = () => {
    http.close();
    http.closeAllConnections();
  };
  return { url, close: () => handler.close(), kill };
}

/** Connects the official client of both eras until the test ends. */
export async function connectTo(
  url: URL,
  mode: Negotiation,
  capabilities: ClientCapabilities = {},
): Promise<NewClient> {
  const client = new NewClient(
    { name: 'http-client', version: '1' },
    { capabilities, versionNegotiation: { mode } },
  );
  await client.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => client.close());
  return client;
}

/** Reported facts. */
export interface ReportLog {
  readonly facts: readonly Fact[];
  report(fact: Fact): void;
  /** Resolves with the first fact of this name. */
  told(name: string): Promise<Fact>;
}

export function reportLog(): ReportLog {
  const facts: Fact[] = [];
  const waiting = new Set<() => void>();
  return {
    facts,
    report: (fact) => {
      facts.push(fact);
      for (const look of waiting) look();
    },
    told: (name) =>
      new Promise((resolve) => {
        const look = () => {
          const fact = facts.find((each) => each.name === name);
          if (!fact) return;
          waiting.delete(look);
          resolve(fact);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Serves tools until the test ends, and records reports. */
export async function serveTools(
  tools: readonly Tool[],
  options: HttpOptions = {},
  definition: Partial<ServerDefinition> = {},
) {
  const facts = reportLog();
  const { report } = facts;
  const server = createMcpServer({ name: 'raw', version: '1', tools, ...definition });
  const { session, ...rest } = options;
  const common = typeof session === 'function' ? {} : session;
  const url = await serveHttp(server, { report, ...rest, session: { report, ...common } });
  return { url, server, ...facts };
}
