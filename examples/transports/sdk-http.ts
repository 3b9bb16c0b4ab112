/**
 * Serves one of our servers over the official SDK's Streamable HTTP transport, with an SDK
 * transport and a session per client.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { fromSdkTransport } from 'mcp-actors';
import type { ListenOptions, McpServer, McpSession } from 'mcp-actors';

export interface HttpServing extends AsyncDisposable {
  readonly url: URL;
  /** Open sessions by id. */
  readonly sessions: ReadonlyMap<string, McpSession>;
}

/**
 * Listens on loopback. Rejects requests with a foreign Host or Origin, to prevent DNS rebinding.
 *
 * @param port 0 for any free port
 */
export async function serveHttp(
  server: McpServer,
  port: number,
  options: ListenOptions = {},
): Promise<HttpServing> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const sessions = new Map<string, McpSession>();
  /** Accepted Host values. */
  let hosts: string[] = [];

  const open = async (request: IncomingMessage, response: ServerResponse) => {
    // #region session
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        sessions.set(id, session);
        void session.closed.then(() => {
          transports.delete(id);
          sessions.delete(id);
        });
      },
      enableDnsRebindingProtection: true,
      allowedHosts: hosts,
      allowedOrigins: hosts.map((host) => `http://${host}`),
    });
    const session = server.listen(fromSdkTransport(transport), options);
    await transport.handleRequest(request, response);
    // #endregion
    // A request other than `initialize` was answered with an error, so no client will return.
    if (transport.sessionId === undefined) session.shutdown('No session was opened');
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const id = request.headers['mcp-session-id'];
    const transport = transports.get(String(id));
    if (pathname !== '/mcp') response.writeHead(404).end('This server is at /mcp');
    else if (transport) await transport.handleRequest(request, response);
    else if (id !== undefined) response.writeHead(404).end('There is no such session');
    else await open(request, response);
  };

  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, '127.0.0.1', resolve);
  });
  const address = http.address() as AddressInfo;
  hosts = [`127.0.0.1:${address.port}`, `localhost:${address.port}`];

  return {
    url: new URL(`http://${hosts[0]}/mcp`),
    sessions,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...sessions.values()].map((session) => session[Symbol.asyncDispose]()));
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}
