/**
 * `@modelcontextprotocol/sdk` 1.x over HTTP as documented: a server and a transport per session.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { longestLineBytes } from './asking.mjs';
import { registerTools } from './sdk-http-tools.mjs';
import { listen } from './http-listening.mjs';

/** Sessions by id. */
const sessions = new Map();

async function begin() {
  const server = new McpServer(
    { name: 'sdk-1', version: '0.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  registerTools(server, {
    shapeOf: (shape) => shape,
    schemas: z,
    sessions,
    relatedTo: ({ requestId }) => ({ relatedRequestId: requestId }),
    signalOf: ({ signal }) => signal,
  });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    maxRequestBodySize: longestLineBytes,
    onsessioninitialized: (id) => {
      sessions.set(id, { server, transport });
    },
    onsessionclosed: (id) => {
      sessions.delete(id);
    },
  });
  await server.connect(transport);
  return transport;
}

async function handle(request, response) {
  const id = request.headers['mcp-session-id'];
  const transport = id === undefined ? await begin() : sessions.get(id)?.transport;
  if (transport === undefined) response.writeHead(404).end();
  else await transport.handleRequest(request, response);
}

listen(createServer((request, response) => void handle(request, response)));
