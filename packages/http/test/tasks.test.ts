/** Tasks of official clients over HTTP. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, defineForm, defineTool } from 'mcp-actors';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { callTool } from './modern/modern-client.ts';
import { serveHttp } from './serving.ts';
import { modern } from '../../../test/e2e/both-eras-client.ts';

const form = defineForm({ type: 'object', properties: { name: { type: 'string' } } });

const greet = defineTool({
  name: 'greet',
  description: 'Greets whoever is there',
  taskSupport: 'optional',
  handler: async (_, context) => {
    const answer = await context.elicit({ message: 'Who is there?', schema: form });
    return `Hello ${answer.action === 'accept' ? answer.content.name : 'you'}`;
  },
});

const session = { limits: { taskPollIntervalMs: 5 } };
const server = () => createMcpServer({ name: 'tasks', version: '1', tools: [greet] });
const accepted = { action: 'accept', content: { name: 'Ada' } } as const;

test('streams a task of a 2025-11-25 client, including its request to the client', async () => {
  const url = await serveHttp(server(), { session });
  const clientInfo = { name: 'official', version: '1' };
  const client = new LegacyClient(clientInfo, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  await client.connect(new LegacyTransport(url) as Transport);
  onTestFinished(() => client.close());
  await client.listTools();
  const messages: string[] = [];
  const call = { name: 'greet', arguments: {} };
  const options = { task: { ttl: 60_000 } };
  const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, options);
  for await (const message of stream) {
    messages.push(message.type);
    if (message.type === 'result') {
      expect(message.result.content).toEqual([{ type: 'text', text: 'Hello Ada' }]);
    }
  }
  expect([messages[0], messages.at(-1)]).toEqual(['taskCreated', 'result']);
});

test('lets a 2026-07-28 client poll a task, answer its request and get its result', async () => {
  const url = await serveHttp(server(), { session });
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities: { elicitation: {}, extensions }, versionNegotiation: { mode: modern } },
  );
  await client.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => client.close());
  const request = (method: string, params: object) =>
    client.request({ method, params } as never, z.looseObject({}) as never) as Promise<Task>;
  // This client does not accept a task as the answer to a call, so the task is created separately.
  const created = await callTool(
    url,
    'greet',
    {},
    { capabilities: { elicitation: {}, extensions } },
  );
  const { taskId } = created.result as unknown as Task;
  const reached = async (wanted: string) => {
    for (;;) {
      const task = await request('tasks/get', { taskId });
      if (task.status === wanted) return task;
    }
  };
  const { inputRequests = {} } = await reached('input_required');
  const [key = ''] = Object.keys(inputRequests);
  await request('tasks/update', { taskId, inputResponses: { [key]: accepted } });
  const { result } = await reached('completed');
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'Hello Ada' }] });
});

interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly inputRequests?: object;
  readonly result?: object;
}
