/** `@modelcontextprotocol/sdk` 1.x as documented. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
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

const server = new McpServer({ name: 'sdk-1', version: '0.0.0' });

server.registerTool(
  'echo',
  { description: 'Gives the text back.', inputSchema: { text: z.string() } },
  async ({ text }) => textResult(text),
);
server.registerTool(
  'fill',
  { description: 'Gives a text of so many bytes.', inputSchema: { bytes: z.int().min(0) } },
  async ({ bytes }) => textResult(filling(bytes)),
);
server.registerTool(
  'roots',
  {
    description: 'Asks the client for its roots so many times.',
    inputSchema: { count: z.int().min(0), concurrent: z.boolean() },
  },
  async ({ count, concurrent }, { signal }) =>
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
    inputSchema: { count: z.int().min(0) },
  },
  async ({ count }, { signal }) =>
    textResult(
      await askAll(count, false, async () =>
        numberOfSample(
          await server.server.createMessage(sampling, { timeout: patienceMs, signal }),
        ),
      ),
    ),
);

const transport = new StdioServerTransport(process.stdin, process.stdout, {
  maxBufferSize: longestLineBytes,
});
await server.connect(transport);
// The SDK does not detect the end of its input and would never exit.
process.stdin.on('end', () => process.exit(0));
