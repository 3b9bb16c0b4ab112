import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task } from '@modelcontextprotocol/sdk/experimental/tasks/types.js';
import { CallToolResultSchema, ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { kill } from '../../packages/processes/test/process-table.ts';
import { program } from '../tooling/programs.ts';
import { closeClients, connect } from './sdk-client.ts';
import type { SdkClient } from './sdk-client.ts';
import { gone, launch, reapServers } from './server-process.ts';

const server = program('test/e2e/durable-server.ts');
const cli = join(import.meta.dirname, '../../packages/cli/dist/cli.js');
let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'mcp-durable-'));
});

afterEach(async () => {
  await closeClients();
  await reapServers();
  await rm(state, { recursive: true });
});

/** Calls a tool as a task and returns the task, without reading the rest of the stream. */
async function begin({ client }: SdkClient, name: string): Promise<Task> {
  await client.listTools();
  const call = { name, arguments: {} };
  const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  const { value } = await stream.next();
  if (value?.type === 'taskCreated') return value.task;
  throw new Error(`No task was created: ${JSON.stringify(value)}`);
}

async function killed({ pid }: SdkClient): Promise<void> {
  kill(pid);
  await gone(pid);
}

describe('a killed server', () => {
  test('reports its tasks correctly after a restart', async () => {
    const first = await connect([...server, state]);
    const [held, said] = [await begin(first, 'hold'), await begin(first, 'say')];
    const { tasks } = first.client.experimental;
    const result = await tasks.getTaskResult(said.taskId, CallToolResultSchema);
    await killed(first);
    const { client } = await connect([...server, state]);
    const again = client.experimental.tasks;
    expect(await again.getTask(held.taskId)).toMatchObject({
      status: 'failed',
      statusMessage: 'The process that ran it has ended',
      createdAt: held.createdAt,
    });
    const lost = again.getTaskResult(held.taskId, CallToolResultSchema);
    await expect(lost).rejects.toMatchObject({ data: { reason: 'process-ended' } });
    expect(await again.getTask(said.taskId)).toMatchObject({ status: 'completed' });
    expect(await again.getTaskResult(said.taskId, CallToolResultSchema)).toEqual(result);
  });

  test('reports its tasks to clients of 2026-07-28 too', async () => {
    const envelope = { capabilities: withTasks };
    const first = launch([...server, state]);
    first.send(enveloped(1, 'tools/call', { name: 'hold' }, envelope));
    const { taskId } = (await first.answer(1))['result'] as { readonly taskId: string };
    kill(first.child.pid as number);
    await first.exit;
    const second = launch([...server, state]);
    second.send(enveloped(1, 'tasks/get', { taskId }, envelope));
    expect((await second.answer(1))['result']).toMatchObject({
      status: 'failed',
      error: { message: 'The process that ran it has ended' },
    });
  });

  test('resumes durable tasks, and the command shows, lists and cancels them', async () => {
    const envelope = { capabilities: withTasks };
    const first = launch([...server, state]);
    first.send(enveloped(1, 'tools/call', { name: 'charge' }, envelope));
    first.send(enveloped(2, 'tools/call', { name: 'nap' }, envelope));
    const idOf = async (id: number) =>
      ((await first.answer(id))['result'] as { readonly taskId: string }).taskId;
    const [charged, napping] = [await idOf(1), await idOf(2)];
    kill(first.child.pid as number);
    await first.exit;
    const second = launch([...server, state]);
    second.send(enveloped(1, 'tools/call', { name: 'say' }, envelope));
    await second.answer(1);
    const tasks = (...args: readonly string[]) =>
      spawnSync(process.execPath, [cli, 'tasks', '--durable', state, ...args], {
        encoding: 'utf8',
      });
    expect(tasks().stdout).toContain(napping);
    expect(tasks().stdout).toMatch(
      /durable\/nap .* old .* last sleep:1 {2}waits for a timer, due in /,
    );
    expect(tasks('show', napping).stdout).toMatch(/^waitsFor: a timer, due in (59 min|1 h)/m);
    expect(tasks('cancel', napping).status).toBe(0);
    expect(tasks('cancel', napping).status).toBe(1);
    expect(tasks('show', charged, '--json').stdout).toContain('"restarts":');
    second.send(enveloped(2, 'tasks/get', { taskId: napping }, envelope));
    expect((await second.answer(2))['result']).toMatchObject({ status: 'cancelled' });
  });

  test('encrypts with the keys of its environment, so only their owner sees and cancels its tasks', async () => {
    const env = { MCP_STATE_KEYS: '11'.repeat(32) };
    const first = launch([...server, state], { env });
    first.send(enveloped(1, 'tools/call', { name: 'nap' }, { capabilities: withTasks }));
    const { taskId } = (await first.answer(1))['result'] as { readonly taskId: string };
    const tasks = (keys: string | undefined, ...args: readonly string[]) =>
      spawnSync(process.execPath, [cli, 'tasks', '--durable', state, ...args], {
        encoding: 'utf8',
        env: { ...process.env, MCP_STATE_KEYS: keys },
      });
    const why = 'sealed: set MCP_STATE_KEYS to the stateKeys of their server.';
    for (const keys of [undefined, '22'.repeat(32)]) {
      const { stdout, stderr } = tasks(keys);
      expect(stdout).toContain(`${taskId}  sealed  durable  `);
      expect(stderr).toBe(`1 of 1 are ${why}\n`);
      expect(tasks(keys, 'cancel', taskId)).toMatchObject({ status: 2 });
    }
    expect(tasks('22').stderr).toContain('MCP_STATE_KEYS: Key 1');
    expect(tasks(env.MCP_STATE_KEYS, 'show', taskId).stdout).toMatch(/^tool: nap$/m);
    expect(tasks(env.MCP_STATE_KEYS, 'cancel', taskId).status).toBe(0);
    first.send(enveloped(2, 'tasks/get', { taskId }, { capabilities: withTasks }));
    expect((await first.answer(2))['result']).toMatchObject({ status: 'cancelled' });
  });

  test('leaves no lock that another process would wait for', async () => {
    const first = await connect([...server, state]);
    const other = await connect([...server, state]);
    const { taskId } = await begin(first, 'hold');
    const { tasks } = other.client.experimental;
    expect((await tasks.getTask(taskId)).status).toBe('working');
    expect((await readdir(join(state, 'owners'))).filter(isLock)).toHaveLength(2);
    await killed(first);
    expect((await tasks.getTask(taskId)).status).toBe('failed');
    expect((await readdir(join(state, 'owners'))).filter(isLock)).toHaveLength(1);
  });
});

const withTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const isLock = (name: string) => name.endsWith('.db');

test('without a store distinguishes a task of an earlier process from an expired one', async () => {
  const first = await connect(server);
  const { taskId } = await begin(first, 'hold');
  await killed(first);
  const { client } = await connect(server);
  await client.listTools();
  const { tasks } = client.experimental;
  const unknown = { code: ErrorCode.InvalidParams };
  await expect(tasks.getTask(taskId)).rejects.toMatchObject({
    ...unknown,
    data: { reason: 'process-ended' },
  });
  await expect(tasks.getTask('x')).rejects.toMatchObject({ ...unknown, data: undefined });
});

describe('a store whose package is missing', () => {
  test.each([
    ['a project', true, (folder: string) => `install NAME in ${folder}`],
    ['all users', false, () => 'install --global NAME'],
  ])(
    'names the folder to install the package in, for a command of %s',
    async (_, isProject, how) => {
      const folder = join(await realpath(state), 'installed');
      const dist = join(folder, 'node_modules/@mcp-actors/cli/dist');
      await cp(join(cli, '..'), dist, { recursive: true });
      if (isProject) await writeFile(join(folder, 'package.json'), '{}');
      for (const [name, scheme] of [
        ['pg', 'postgres'],
        ['redis', 'redis'],
      ] as const) {
        // An empty folder stops the search, because a parent folder may have the package.
        await mkdir(join(dist, 'node_modules', name), { recursive: true });
        const args = [join(dist, 'cli.js'), 'tasks', '--durable', `${scheme}://127.0.0.1:1/`];
        const { status, stderr } = spawnSync(process.execPath, args, {
          cwd: state,
          encoding: 'utf8',
        });
        expect([status, stderr]).toEqual([
          2,
          expect.stringContaining(`run npm ${how(folder).replace('NAME', name)}\n`),
        ]);
      }
    },
  );
});
