/** `mcp-lite` over HTTP as documented: hono, and its own in-memory adapters. */
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import {
  InMemoryClientRequestAdapter,
  InMemorySessionAdapter,
  McpServer,
  StreamableHttpTransport,
} from 'mcp-lite';
import { z } from 'zod';
import {
  askAll,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
  textResult,
} from './asking.mjs';
import { listChanged, listen, logMessage } from './http-listening.mjs';

const server = new McpServer({
  name: 'mcp-lite',
  version: '0.0.0',
  schemaAdapter: (schema) => z.toJSONSchema(schema),
});
const transport = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
  clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: patienceMs }),
});
let asked = 0;

/**
 * It has no roots request, and its sampling takes a single prompt, so both use its transport
 * directly.
 */
async function ask({ session, requestId }, method, params) {
  const { result } = await transport.sendClientRequest(
    session.id,
    { id: ++asked, method, params },
    { relatedRequestId: requestId, timeout_ms: patienceMs },
  );
  return result;
}

server
  .tool('echo', {
    description: 'Gives the text back.',
    inputSchema: z.object({ text: z.string() }),
    handler: async ({ text }) => textResult(text),
  })
  .tool('roots', {
    description: 'Asks the client for its roots so many times.',
    inputSchema: z.object({ count: z.int().min(0), concurrent: z.boolean() }),
    handler: async ({ count, concurrent }, context) =>
      textResult(
        await askAll(count, concurrent, async () =>
          numberOfRoots(await ask(context, 'roots/list')),
        ),
      ),
  })
  .tool('sample', {
    description: 'Asks the client for a message so many times, one after the other.',
    inputSchema: z.object({ count: z.int().min(0) }),
    handler: async ({ count }, context) =>
      textResult(
        await askAll(count, false, async () =>
          numberOfSample(await ask(context, 'sampling/createMessage', sampling)),
        ),
      ),
  })
  .tool('notify', {
    description: 'Notifies every session that has an open stream so many times.',
    inputSchema: z.object({ count: z.int().min(0), bytes: z.int().min(0).optional() }),
    handler: async ({ count, bytes }) => {
      const message = bytes === undefined ? listChanged : logMessage(bytes);
      for (let sent = 0; sent < count; sent++) await server.notificationSender(undefined, message);
      return textResult('done');
    },
  });

const handle = transport.bind(server);
const app = new Hono();
app.all('/mcp', (context) => handle(context.req.raw));
listen(createAdaptorServer({ fetch: app.fetch }));
