/**
 * Cost of an ordinary call with and without a durable store, of a durable call, and of a task, in
 * one process and one run: `npx tsx lab/bench/micro/durable-calls.ts`. Batches alternate, and
 * medians are printed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import {
  scriptedConversation,
  enveloped,
  initialize,
  initialized,
  toolCall,
} from 'mcp-actors/testing';
import { openTaskWorker } from '../../../packages/serve/src/open-task-worker.ts';
import { SessionlessTasks } from '../../../src/server/task-resumer.actor.ts';

const rounds = Number(process.argv[2] ?? 15);

const plain = defineTool({ name: 'plain', description: 'Answers', handler: () => 'done' });
const durable = defineTool({
  name: 'durable',
  description: 'Answers',
  durable: true,
  taskSupport: 'optional',
  handler: () => 'done',
});

const folder = await mkdtemp(join(tmpdir(), 'mcp-bench-'));
const withStore: McpServer = createMcpServer({
  name: 'bench',
  version: '1',
  tools: [plain, durable],
});
const without: McpServer = createMcpServer({ name: 'bench', version: '1', tools: [plain] });
const report = () => {};
const limits = { maxRestarts: 5, maxTasks: 64 };
const worker = await openTaskWorker(folder, withStore, {
  ...{ report, limits },
  resumer: (by) => new SessionlessTasks(withStore, by, { report }),
});

async function begin(server: McpServer, options: object) {
  const { peer } = scriptedConversation(server, options);
  peer.send(initialize('hello'), initialized);
  await peer.response('hello');
  return peer;
}

const bare = await begin(without, {});
const stored = await begin(withStore, { durable: worker });
const { peer: modern } = scriptedConversation(withStore, { durable: worker });
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

let id = 0;
const call = (peer: typeof bare, name: string) => async () => {
  const each = ++id;
  peer.send(toolCall(each, name));
  await peer.response(each);
};

async function ask(method: string, params: object): Promise<{ status?: string; taskId?: string }> {
  const each = ++id;
  modern.send(enveloped(each, method, params as never, { capabilities }));
  return ((await modern.response(each)) as { result: object }).result;
}

/** A task from its call to the poll that returns the result. */
async function task(): Promise<void> {
  const { taskId } = await ask('tools/call', { name: 'durable' });
  for (;;) {
    if ((await ask('tasks/get', { taskId })).status === 'completed') return;
  }
}

const subjects = {
  'an ordinary call, no store': { run: call(bare, 'plain'), times: 2000 },
  'an ordinary call, with a store': { run: call(stored, 'plain'), times: 2000 },
  'a durable call': { run: call(stored, 'durable'), times: 30 },
  'a task': { run: task, times: 30 },
};

const times = new Map(Object.keys(subjects).map((name) => [name, [] as [number, number][]]));
for (let round = -2; round < rounds; round++) {
  for (const [name, subject] of Object.entries(subjects)) {
    const cpu = process.cpuUsage();
    const begun = performance.now();
    for (let nth = 0; nth < subject.times; nth++) await subject.run();
    const { user, system } = process.cpuUsage(cpu);
    const wall = ((performance.now() - begun) * 1000) / subject.times;
    if (round >= 0) times.get(name)?.push([(user + system) / subject.times, wall]);
  }
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

for (const [name, all] of times) {
  const [cpu, wall] = [0, 1].map((at) => Math.round(median(all.map((pair) => pair[at] ?? 0))));
  console.log(`${name.padEnd(32)} ${cpu} µs of CPU, ${wall} µs`);
}
await worker.close();
await rm(folder, { recursive: true });
process.exit();
