/**
 * Session features at every node: official clients whose requests alternate between nodes that
 * share a real Redis, with one server each or one per session.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineForm, defineResource, defineTool } from '../../../src/index.ts';
import type { McpServer } from '../../../src/index.ts';
import { modern } from '../../../test/e2e/both-eras-client.ts';
import { begin } from '../../http/test/raw-client.ts';
import { startRedisNodes, stateKeys } from './redis-nodes.ts';
import { RedisServer, hasRedis, needsRedis } from './redis-server.ts';

let redis: RedisServer;
beforeAll(async () => {
  if (hasRedis()) redis = await RedisServer.start();
});
afterAll(() => redis?.stop());
beforeEach(needsRedis);

const form = defineForm({ type: 'object', properties: { name: { type: 'string' } } });
const uri = 'test://watched';

/** Nodes, and the servers created at them. */
async function start(kind: 'one server' | 'a server for each') {
  const prefix = `${crypto.randomUUID()}:`;
  const servers: McpServer[][] = [];
  const make = (node: number): McpServer => {
    const greet = defineTool({
      name: 'greet',
      description: 'Greets whoever is there',
      taskSupport: 'optional',
      handler: async (_, context) => {
        const answer = await context.elicit({ message: 'Who is there?', schema: form });
        return `Hello ${answer.action === 'accept' ? answer.content.name : 'you'}`;
      },
    });
    const pay = defineTool({
      name: 'pay',
      description: 'Sends its client to a page',
      handler: async (_, context) => {
        const answer = await context.elicitUrl({ message: 'Pay', url: 'https://a.example/pay' });
        return answer.action;
      },
    });
    const server = createMcpServer({
      name: 'kinds',
      version: '1',
      tools: [greet, pay],
      resources: [defineResource({ uri, name: 'watched', read: () => 'text' })],
      stateKeys,
    });
    (servers[node] ??= []).push(server);
    return server;
  };
  const nodes = await startRedisNodes({
    count: 3,
    stores: () => ({ url: redis.url, prefix }),
    server: (node) => (kind === 'one server' ? make(node) : () => make(node)),
    http: { sse: true, path: '/mcp', session: { limits: { taskPollIntervalMs: 5 } } },
  });
  // Every node has created a server by now.
  for (const node of nodes) await begin(node);
  let turn = 0;
  /** Sends each request to the next node. */
  const inTurn: typeof fetch = (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(new URL(pathname + search, nodes[turn++ % nodes.length]), init);
  };
  return { nodes, servers, inTurn };
}

const info = { name: 'official', version: '1' };
const accepted = { action: 'accept', content: { name: 'Ada' } } as const;

async function connectedWith(transport: Transport) {
  const elicitation = { form: {}, url: {} };
  const client = new LegacyClient(info, { capabilities: { elicitation } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
    params.mode === 'url' ? { action: 'accept' } : accepted,
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

type Started = Awaited<ReturnType<typeof start>>;

const transports: readonly [string, (started: Started) => Transport][] = [
  [
    'Streamable HTTP',
    ({ nodes, inTurn }) => new LegacyTransport(nodes[0]!, { fetch: inTurn }) as Transport,
  ],
  [
    'HTTP+SSE',
    ({ nodes, inTurn }) =>
      new SSEClientTransport(new URL('/sse', nodes[0]), { fetch: inTurn }) as Transport,
  ],
];

describe.each(['one server', 'a server for each'] as const)('nodes with %s', (kind) => {
  describe.each(transports)('serve a session over %s', (_, transport) => {
    test('with tasks that send requests to the client', async () => {
      const client = await connectedWith(transport(await start(kind)));
      await client.listTools();
      const call = { name: 'greet', arguments: {} };
      const options = { task: { ttl: 60_000 } };
      const { tasks } = client.experimental;
      const results: unknown[] = [];
      for await (const message of tasks.callToolStream(call, CallToolResultSchema, options)) {
        if (message.type === 'result') results.push(message.result.content);
        if (message.type === 'error') results.push(message.error);
      }
      expect(results).toEqual([[{ type: 'text', text: 'Hello Ada' }]]);
    });

    test('with URL elicitation completed at any node', async () => {
      const started = await start(kind);
      const client = await connectedWith(transport(started));
      const done: string[] = [];
      client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
        done.push(params.elicitationId);
      });
      const ids: string[] = [];
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        ids.push((params as { readonly elicitationId: string }).elicitationId);
        return { action: 'accept' };
      });
      const { servers } = started;
      for (const node of [0, 1, 2]) {
        const { content } = await client.callTool({ name: 'pay' });
        expect(content).toEqual([{ type: 'text', text: 'accept' }]);
        servers[node]?.at(-1)?.elicitationCompleted(ids.at(-1) ?? '');
        await expect.poll(() => done).toEqual(ids);
      }
    });
  });

  test('notify a session of changes at any node', async () => {
    const started = await start(kind);
    const client = await connectedWith(transports[0]![1](started));
    const changes: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      changes.push(params.uri);
    });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes.push('tools');
    });
    await client.subscribeResource({ uri });
    for (const servers of started.servers) {
      changes.length = 0;
      servers.at(-1)?.resourceUpdated(uri);
      await expect.poll(() => changes).toEqual([uri]);
      servers.at(-1)?.tools.add(defineTool({ name: 'new', description: 'New', handler: () => '' }));
      await expect.poll(() => changes).toEqual([uri, 'tools']);
    }
  });

  test('notify a 2026-07-28 subscriber of changes at any node', async () => {
    const { nodes, servers } = await start(kind);
    const client = new Client(info, { versionNegotiation: { mode: modern } });
    const changes: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      changes.push(params.uri);
    });
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      changes.push('tools');
    });
    await client.connect(new StreamableHTTPClientTransport(nodes[0]!));
    onTestFinished(() => client.close());
    await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
    for (const each of servers) {
      changes.length = 0;
      each.at(-1)?.resourceUpdated(uri);
      await expect.poll(() => changes).toEqual([uri]);
      each.at(-1)?.tools.add(defineTool({ name: 'new', description: 'New', handler: () => '' }));
      await expect.poll(() => changes).toEqual([uri, 'tools']);
    }
  });
});
