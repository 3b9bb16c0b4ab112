import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, memory, toSdkTransport } from 'mcp-actors';
import { expect, test } from 'vitest';
import { relatedKey, taskTool } from './task-serving.ts';

test('the official client polls a task, answers its question, and streams its result [TASKS-07] [TASKS-15]', async () => {
  const asking = taskTool('asking', async (_, context) => {
    const answer = await context.request('elicitation/create', {
      message: 'Name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return JSON.stringify(answer['content']);
  });
  const server = createMcpServer({ name: 's', version: '1', tools: [asking] });
  const { transport, peer } = memory();
  const session = server.listen(transport, { limits: { taskPollIntervalMs: 1 } });
  const client = new Client(
    { name: 'official', version: '1' },
    { capabilities: { elicitation: {} } },
  );
  const complaints: unknown[] = [];
  client.onerror = (error) => complaints.push(error);
  const asked: unknown[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params._meta?.[relatedKey]);
    return { action: 'accept', content: { name: 'Ada' } };
  });
  await client.connect(toSdkTransport(peer));
  await client.listTools();

  const messages: string[] = [];
  let taskId: string | undefined;
  const call = { name: 'asking', arguments: {} };
  const { tasks } = client.experimental;
  const ttl = 60_000;
  for await (const message of tasks.callToolStream(call, CallToolResultSchema, { task: { ttl } })) {
    messages.push(message.type);
    if (message.type === 'taskCreated') ({ taskId } = message.task);
    if (message.type === 'result') {
      expect(message.result.content).toEqual([{ type: 'text', text: '{"name":"Ada"}' }]);
    }
  }
  expect([messages[0], messages.at(-1)]).toEqual(['taskCreated', 'result']);
  expect(asked).toEqual([{ taskId }]);
  expect(complaints).toEqual([]);
  await client.close();
  await session.closed;
});
