/** The reminder of examples/reminder, whose process is killed while it waits for the next day. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from 'mcp-actors';
import { enveloped } from 'mcp-actors/testing';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { openTaskStore } from '../../packages/serve/src/open-task-worker.ts';
import { launch, reapServers } from '../e2e/server-process.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import { program } from '../tooling/programs.ts';

const capabilities = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

afterEach(reapServers);

let ids = 0;

async function ask(server: ServerProcess, method: string, params: JsonObject) {
  const id = ++ids;
  server.send(enveloped(id, method, params, { capabilities }));
  return (await server.answer(id))['result'] as JsonObject;
}

test('reminds on time although the process was killed meanwhile', async () => {
  const state = await mkdtemp(join(tmpdir(), 'mcp-reminder-'));
  onTestFinished(() => rm(state, { recursive: true }));
  const store = await openTaskStore(state);
  onTestFinished(() => store.close());
  const open = (env: { readonly [name: string]: string }) =>
    launch([...program('examples/reminder/server.ts'), state], { env });

  const first = open({ TOMORROW_MS: '1000' });
  const call = { name: 'remind', arguments: { text: 'Water the plants' } };
  const taskId = (await ask(first, 'tools/call', call))['taskId'] as string;
  const written = async () => (await store.read(taskId))?.record.steps.map(({ key }) => key);
  await expect.poll(written).toContain('checkpoint');
  first.child.kill('SIGKILL');
  await first.exit;

  // The next day is a day away: the task resumes at its recorded time.
  const second = open({});
  const look = () => ask(second, 'tasks/get', { taskId });
  await expect.poll(look).toMatchObject({ status: 'input_required' });
  const [[key, question] = []] = Object.entries((await look())['inputRequests'] as JsonObject);
  expect(question).toMatchObject({
    params: { message: expect.stringMatching(/^Water the plants: /) },
  });
  const inputResponses = { [key as string]: { action: 'accept', content: {} } };
  await ask(second, 'tasks/update', { taskId, inputResponses });
  await expect.poll(look).toMatchObject({
    status: 'completed',
    result: { content: [{ text: 'Done: Water the plants' }] },
  });
});
