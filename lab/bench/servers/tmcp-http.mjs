/** `tmcp` with its own HTTP transport and zod adapter, on hono's Node adapter. */
import { createAdaptorServer } from '@hono/node-server';
import { HttpTransport } from '@tmcp/transport-http';
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { McpServer } from 'tmcp';
import { z } from 'zod';
import { askAll, numberOfRoots, numberOfSample, sampling, textResult } from './asking.mjs';
import { listen } from './http-listening.mjs';

const server = new McpServer(
  { name: 'tmcp', version: '0.0.0', description: 'A server of the benchmark' },
  {
    adapter: new ZodJsonSchemaAdapter(),
    capabilities: { tools: { listChanged: true }, logging: {} },
  },
);

server.tool(
  {
    name: 'echo',
    description: 'Gives the text back.',
    schema: z.object({ text: z.string() }),
  },
  async ({ text }) => textResult(text),
);
server.tool(
  {
    name: 'roots',
    description: 'Asks the client for its roots so many times.',
    schema: z.object({ count: z.int().min(0), concurrent: z.boolean() }),
  },
  async ({ count, concurrent }) =>
    textResult(
      await askAll(count, concurrent, async () =>
        numberOfRoots(await server.request({ method: 'roots/list' })),
      ),
    ),
);
server.tool(
  {
    name: 'sample',
    description: 'Asks the client for a message so many times, one after the other.',
    schema: z.object({ count: z.int().min(0) }),
  },
  async ({ count }) =>
    textResult(
      await askAll(count, false, async () => numberOfSample(await server.message(sampling))),
    ),
);
server.tool(
  {
    name: 'notify',
    description: 'Notifies every session that has an open stream so many times.',
    schema: z.object({ count: z.int().min(0), bytes: z.int().min(0).optional() }),
  },
  async ({ count, bytes }) => {
    // It can only log to the session of a call, on that call's stream.
    if (bytes !== undefined) throw new Error('it has no log message to all sessions');
    for (let sent = 0; sent < count; sent++) server.changed('tools');
    return textResult('done');
  },
);

const transport = new HttpTransport(server, { path: '/mcp', allowedOrigins: [] });
listen(
  createAdaptorServer({
    fetch: async (request) =>
      (await transport.respond(request)) ?? new Response(null, { status: 404 }),
  }),
);
