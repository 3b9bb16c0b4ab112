/** A server of ours over real sockets, and the official clients of it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { HttpOptions, ServerOf } from '../../src/http/index.ts';
import { nodeHandler } from '../../src/http/node/index.ts';
import type { Negotiation } from '../e2e/both-eras-client.ts';

/** Listens on loopback until the test is over. */
export async function serveHttp(server: ServerOf, options: HttpOptions = {}): Promise<URL> {
  const handler = nodeHandler(server, options);
  const http = createServer(handler);
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    await handler.close();
    http.closeAllConnections();
    await closed;
  });
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
}

/** The official client of both eras, until the test is over. */
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

/** Headers that each POST has to have. */
export const postHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** Posts one message, as it is. */
export function post(
  url: URL,
  message: unknown,
  headers: object = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...postHeaders, ...headers },
    body: JSON.stringify(message),
    ...(signal ? { signal } : {}),
  });
}
