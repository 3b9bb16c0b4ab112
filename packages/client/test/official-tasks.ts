/**
 * A server of the official SDK 1.x whose tools run as tasks only: `quick`, `asking`, which asks a
 * person for a name, and `endless`. As a script it speaks stdio.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

const question = {
  method: 'elicitation/create' as const,
  params: {
    message: 'Who is it?',
    requestedSchema: {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    },
  },
};

/** @param given a store to look into; tasks of several sessions may share one */
export function officialTasks(given = new InMemoryTaskStore()): McpServer {
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer(
    { name: 'official-tasks', version: '1.0.0' },
    { capabilities, taskStore: given, taskMessageQueue: new InMemoryTaskMessageQueue() },
  );
  type Handler = Parameters<typeof server.experimental.tasks.registerToolTask>[2];
  type Extra = Parameters<Handler['createTask']>[1];
  const register = (name: string, work: (taskId: string, extra: Extra) => Promise<void>): void => {
    server.experimental.tasks.registerToolTask(
      name,
      {
        description: name,
        inputSchema: { text: z.string().optional() },
        execution: { taskSupport: 'required' },
      },
      {
        createTask: async (_args: unknown, extra: Extra) => {
          const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 50 });
          void work(task.taskId, extra);
          return { task };
        },
        getTask: (_args: unknown, extra: Extra & { taskId: string }) =>
          extra.taskStore.getTask(extra.taskId),
        getTaskResult: (_args: unknown, extra: Extra & { taskId: string }) =>
          extra.taskStore.getTaskResult(extra.taskId),
      } as never,
    );
  };
  register('quick', async (taskId, { taskStore }) => {
    await taskStore.updateTaskStatus(taskId, 'working', 'nearly there');
    await taskStore.storeTaskResult(taskId, 'completed', text('quick is done'));
  });
  register('asking', async (taskId, { taskStore, sendRequest }) => {
    await taskStore.updateTaskStatus(taskId, 'input_required', 'Who is it?');
    const options = { relatedTask: { taskId } } as object;
    const answer = await sendRequest(question, ElicitResultSchema, options);
    await taskStore.updateTaskStatus(taskId, 'working');
    const said = `It is ${String(answer.content?.['name'])}`;
    await taskStore.storeTaskResult(taskId, 'completed', text(said));
  });
  register('endless', () => Promise.resolve());
  return server;
}

if (process.argv[1] === import.meta.filename) {
  await officialTasks().connect(new StdioServerTransport());
}
