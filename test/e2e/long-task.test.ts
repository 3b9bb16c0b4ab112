import type { Task } from '@modelcontextprotocol/sdk/experimental/tasks/types.js';
import {
  CallToolResultSchema,
  ErrorCode,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { closeClients, connect } from './sdk-client.ts';

const server = program('examples/long-task/server.ts');
/** Longer than any test, so it has to be cancelled. */
const endless = { name: 'count_primes', arguments: { below: 1_000_000_000 } };
const short = { name: 'count_primes', arguments: { below: 100_000 } };

afterEach(closeClients);

/** Calls a tool as a task and returns the task, without reading the rest of the stream. */
async function begin(
  { client }: Awaited<ReturnType<typeof connect>>,
  call: typeof endless,
): Promise<Task> {
  await client.listTools();
  const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  const { value } = await stream.next();
  if (value?.type !== 'taskCreated')
    throw new Error(`No task was created: ${JSON.stringify(value)}`);
  return value.task;
}

describe('the long task example, with the official client', () => {
  test('declares its task support [TASKS-03]', async () => {
    const { client } = await connect(server);
    const { tools } = await client.listTools();
    expect(tools.map(({ execution }) => execution)).toEqual([{ taskSupport: 'optional' }]);
    expect(client.getServerCapabilities()?.tasks).toEqual({
      list: {},
      cancel: {},
      requests: { tools: { call: {} } },
    });
  });

  test('streams the task from creation to result, with progress [TASKS-12] [TASKS-14] [TASKS-18]', async () => {
    const { client } = await connect(server);
    await client.listTools();
    const reported: number[] = [];
    const stream = client.experimental.tasks.callToolStream(short, CallToolResultSchema, {
      task: { ttl: 60_000 },
      onprogress: ({ progress }) => reported.push(progress),
    });
    const kinds: string[] = [];
    let result: unknown;
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === 'result') result = message.result;
    }
    expect([kinds[0], kinds.at(-1)]).toEqual(['taskCreated', 'result']);
    expect(result).toMatchObject({ structuredContent: { count: 9592 } });
    expect(reported.at(-1)).toBe(100_000);
  });

  test('returns the result on request, and reports changes [TASKS-13] [TASKS-17]', async () => {
    const sdk = await connect(server);
    const told: string[] = [];
    sdk.client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => {
      told.push(params.status);
    });
    const { taskId } = await begin(sdk, short);
    const { tasks } = sdk.client.experimental;
    const result = await tasks.getTaskResult(taskId, CallToolResultSchema);
    expect(result.structuredContent).toEqual({ count: 9592 });
    expect(told).toEqual(['completed']);
    expect((await tasks.getTask(taskId)).status).toBe('completed');
  });

  test('lists, shows and cancels the task [TASKS-19] [TASKS-20] [TASKS-21]', async () => {
    const sdk = await connect(server);
    const { taskId } = await begin(sdk, endless);
    const { tasks } = sdk.client.experimental;
    const { tasks: listed } = await tasks.listTasks();
    expect(listed.map((task) => task.taskId)).toEqual([taskId]);
    expect(await tasks.getTask(taskId)).toMatchObject({ status: 'working', pollInterval: 100 });
    expect((await tasks.cancelTask(taskId)).status).toBe('cancelled');
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: ErrorCode.InvalidParams });
    await expect(tasks.getTaskResult(taskId)).rejects.toThrow('cancelled');
  });

  test('runs as an ordinary tool without a task request', async () => {
    const sdk = await connect(server);
    expect(await sdk.call('count_primes', { below: 100 })).toEqual({ count: 25 });
  });

  test('does not outlive its client', async () => {
    // closeClients checks that the process is gone.
    await begin(await connect(server), endless);
  });
});
