/** `tmcp` with its own stdio transport and zod adapter. */
import { StdioTransport } from '@tmcp/transport-stdio';
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod';
import { McpServer } from 'tmcp';
import { z } from 'zod';
import { askAll, filling, numberOfRoots, numberOfSample, sampling, textResult } from './asking.mjs';

const server = new McpServer(
  { name: 'tmcp', version: '0.0.0', description: 'A server of the benchmark' },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
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
    name: 'fill',
    description: 'Gives a text of so many bytes.',
    schema: z.object({ bytes: z.int().min(0) }),
  },
  async ({ bytes }) => textResult(filling(bytes)),
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

new StdioTransport(server).listen();
