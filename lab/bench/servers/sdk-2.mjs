/** `@modelcontextprotocol/server` 2.x as documented for both eras. */
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import {
  askAll,
  filling,
  longestLineBytes,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
  textResult,
} from './asking.mjs';

function makeServer() {
  const server = new McpServer({ name: 'sdk-2', version: '0.0.0' });

  server.registerTool(
    'echo',
    { description: 'Gives the text back.', inputSchema: z.object({ text: z.string() }) },
    async ({ text }) => textResult(text),
  );
  server.registerTool(
    'fill',
    {
      description: 'Gives a text of so many bytes.',
      inputSchema: z.object({ bytes: z.int().min(0) }),
    },
    async ({ bytes }) => textResult(filling(bytes)),
  );
  server.registerTool(
    'roots',
    {
      description: 'Asks the client for its roots so many times.',
      inputSchema: z.object({ count: z.int().min(0), concurrent: z.boolean() }),
    },
    async ({ count, concurrent }, { mcpReq: { signal } }) =>
      textResult(
        await askAll(count, concurrent, async () =>
          numberOfRoots(await server.server.listRoots(undefined, { timeout: patienceMs, signal })),
        ),
      ),
  );
  server.registerTool(
    'sample',
    {
      description: 'Asks the client for a message so many times, one after the other.',
      inputSchema: z.object({ count: z.int().min(0) }),
    },
    async ({ count }, { mcpReq: { signal } }) =>
      textResult(
        await askAll(count, false, async () =>
          numberOfSample(
            await server.server.createMessage(sampling, { timeout: patienceMs, signal }),
          ),
        ),
      ),
  );
  return server;
}

const transport = new StdioServerTransport(process.stdin, process.stdout, {
  maxBufferSize: longestLineBytes,
});
serveStdio(makeServer, { transport });
