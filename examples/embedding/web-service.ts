/** A Hono application that is also an MCP server: it holds its sessions and shows them. */
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { Subject, concatMap, lastValueFrom, takeUntil } from 'rxjs';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpServer, defineTool, fromSdkTransport } from 'mcp-actors';
import type { McpSession } from 'mcp-actors';

const orders = new Map([['A-1', 'paid']]);

const server = createMcpServer({
  name: 'shop',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'order_state',
      description: 'Says where an order stands.',
      inputSchema: {
        type: 'object',
        properties: { order: { type: 'string' } },
        required: ['order'],
      },
      handler: ({ order }) => orders.get(order) ?? `There is no order ${order}`,
    }),
  ],
});

interface Guest {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly session: McpSession;
}

const guests = new Map<string, Guest>();

/**
 * @param hosts names of this service with ports. Without this check, a web page could reach it by
 * DNS rebinding.
 */
export function webService(hosts: string[]): Hono {
  const app = new Hono();

  // The application's own routes.
  app.put('/orders/:order/:state', (c) => {
    orders.set(c.req.param('order'), c.req.param('state'));
    return c.body(null, 204);
  });

  // The MCP server, with a session per client.
  app.all('/mcp', async (c) => {
    const id = c.req.header('mcp-session-id');
    if (id === undefined) return await welcome(hosts, c.req.raw);
    const guest = guests.get(id);
    return guest ? await guest.transport.handleRequest(c.req.raw) : c.notFound();
  });

  // Shows the sessions without their session ids, which authenticate clients.
  app.get('/sessions', (c) => c.json([...guests.values()].map(({ session }) => session.dump())));
  app.get('/sessions/:id/states', (c) => {
    const found = [...guests.values()].find(({ session }) => session.id === c.req.param('id'));
    if (!found) return c.notFound();
    return streamSSE(c, async (stream) => {
      const gone$ = new Subject<void>();
      stream.onAbort(() => gone$.next());
      const written$ = found.session.state$.pipe(
        takeUntil(gone$),
        concatMap((state) => stream.writeSSE({ event: 'state', data: state })),
      );
      await lastValueFrom(written$);
    });
  });
  return app;
}

/** A request without a session opens one if it is `initialize`. */
async function welcome(hosts: string[], request: Request): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => {
      guests.set(id, { transport, session });
      void session.closed.then(() => guests.delete(id));
    },
    enableDnsRebindingProtection: true,
    allowedHosts: hosts,
    allowedOrigins: hosts.map((host) => `http://${host}`),
  });
  const session = server.listen(fromSdkTransport(transport));
  const response = await transport.handleRequest(request);
  if (transport.sessionId === undefined) session.shutdown('No session was opened');
  return response;
}
