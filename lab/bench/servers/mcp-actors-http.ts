/** Our runtime over HTTP, through its public API. Built as plain JavaScript before measuring. */
import { createServer } from 'node:http';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject, McpServer, McpSession } from 'mcp-actors';
import { nodeHandler } from 'mcp-actors/http/node';
import { redisStores } from 'mcp-actors/redis';
import { askAll, numberOfRoots, numberOfSample, patienceMs, sampling } from './asking.mjs';
import { listChanged, listen, logMessage, sessionIdleMs } from './http-listening.mjs';

const waiting = { timeoutMs: patienceMs, maxTotalMs: patienceMs };

/** Open sessions by id. */
const sessions = new Map<string, McpSession>();

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

const notify = defineTool({
  name: 'notify',
  description: 'Notifies every session that has an open stream so many times.',
  inputSchema: {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 0 },
      bytes: { type: 'integer', minimum: 0 },
    },
    required: ['count'],
  },
  handler: async ({ count, bytes }) => {
    const { method, params } = bytes === undefined ? listChanged : logMessage(bytes);
    for (const session of sessions.values()) {
      for (let sent = 0; sent < count; sent++) session.notify(method, params);
    }
    return 'done';
  },
});

const server: McpServer = createMcpServer({
  name: 'mcp-actors',
  version: '0.0.0',
  tools: [echo, roots, sample, notify],
  logging: {},
  onClose: ({ id }) => sessions.delete(id),
});

/** A server that tracks its sessions for notifying them. */
const kept: McpServer = {
  ...server,
  listen: (transport, options) => {
    const session = server.listen(transport, options);
    sessions.set(session.id, session);
    return session;
  },
};

const limits = sessionIdleMs > 0 ? { sessionIdleTimeoutMs: sessionIdleMs } : {};
const { REDIS_URL: url } = process.env;
let listening: (url: string) => void = () => {};
const ownUrl = new Promise<string>((resolve) => {
  listening = resolve;
});
const shared =
  url === undefined ? {} : { stores: await redisStores({ url }), node: { url: ownUrl } };
listen(createServer(nodeHandler(kept, { limits, ...shared })), listening);
