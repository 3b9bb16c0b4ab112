/**
 * `@modelcontextprotocol/server` 2.x over HTTP as documented: a server and a transport per session
 * of older revisions, and its handler for 2026-07-28.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { longestLineBytes } from './asking.mjs';
import { registerTools } from './sdk-http-tools.mjs';
import { listen } from './http-listening.mjs';

/** Sessions by id. */
const sessions = new Map();

function makeServer() {
  const server = new McpServer(
    { name: 'sdk-2', version: '0.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  registerTools(server, {
    shapeOf: (shape) => z.object(shape),
    schemas: z,
    sessions,
    relatedTo: ({ mcpReq: { id } }) => ({ relatedRequestId: id }),
    signalOf: ({ mcpReq: { signal } }) => signal,
  });
  return server;
}

async function begin() {
  const server = makeServer();
  const transport = new NodeStreamableHTTPServerTransport({
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

const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: 'reject' }));

async function handle(request, response) {
  const { 'mcp-session-id': id, 'mcp-protocol-version': version } = request.headers;
  if (version === '2026-07-28') return modern(request, response);
  const transport = id === undefined ? await begin() : sessions.get(id)?.transport;
  if (transport === undefined) response.writeHead(404).end();
  else await transport.handleRequest(request, response);
}

listen(createServer((request, response) => void handle(request, response)));
