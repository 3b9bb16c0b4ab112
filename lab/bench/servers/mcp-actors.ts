/** Our runtime, through its public API. Built as plain JavaScript before measuring. */
import { createMcpServer, defineTool, stdio } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import {
  askAll,
  filling,
  longestLineBytes,
  numberOfRoots,
  numberOfSample,
  patienceMs,
  sampling,
} from './asking.mjs';

const waiting = { timeoutMs: patienceMs, maxTotalMs: patienceMs };

const echo = defineTool({
  name: 'echo',
  description: 'Gives the text back.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  },
  handler: async ({ text }) => text,
});

const fill = defineTool({
  name: 'fill',
  description: 'Gives a text of so many bytes.',
  inputSchema: {
    type: 'object',
    properties: { bytes: { type: 'integer', minimum: 0 } },
    required: ['bytes'],
  },
  handler: async ({ bytes }) => filling(bytes),
});

const roots = defineTool({
  name: 'roots',
  description: 'Asks the client for its roots so many times.',
  inputSchema: {
    type: 'object',
    properties: { count: { type: 'integer', minimum: 0 }, concurrent: { type: 'boolean' } },
    required: ['count', 'concurrent'],
  },
  handler: ({ count, concurrent }, context) =>
    askAll(count, concurrent, async () =>
      numberOfRoots(await context.request('roots/list', undefined, { ...waiting, probe: true })),
    ),
});

const sample = defineTool({
  name: 'sample',
  description: 'Asks the client for a message so many times, one after the other.',
  inputSchema: {
    type: 'object',
    properties: { count: { type: 'integer', minimum: 0 } },
    required: ['count'],
  },
  handler: ({ count }, context) =>
    askAll(count, false, async () =>
      numberOfSample(
        await context.request('sampling/createMessage', sampling satisfies JsonObject, waiting),
      ),
    ),
});

const session = createMcpServer({
  name: 'mcp-actors',
  version: '0.0.0',
  tools: [echo, fill, roots, sample],
}).listen(stdio(), { limits: { maxLineBytes: longestLineBytes, maxPending: 1_000_000 } });

await session.closed;
