/**
 * A server with durable tasks, in a directory or at a URL, that ends itself with SIGKILL at a point: `create.called:1` is the first time that its
 * store is asked to create, `create.answered:1` is when it has answered that, and the engine has not gone on; `stdout` is what is said to the client.
 * `any:20` is the twentieth point of all.
 */
import { createMcpServer } from 'mcp-actors';
import type { TaskStore } from 'mcp-actors';
import { postgresTaskStore } from 'mcp-actors/postgres';
import { redisTaskStore } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { sqliteTaskStore } from '../../packages/tasks/src/sqlite/sqlite-task-store.ts';
import { taskTools } from './task-tools.ts';

const [, , where = '', point = '', name = 'tasks'] = process.argv;
const [what = '', nth] = point.split(':');
const come = new Map<string, number>();

/** Ends the process if this is the point. */
function reach(label: string): void {
  for (const each of [label, 'any']) {
    const times = (come.get(each) ?? 0) + 1;
    come.set(each, times);
    if (each === what && times === Number(nth)) process.kill(process.pid, 'SIGKILL');
  }
}

/** Of a store that others share. Tests wait for its end. */
const leaseMs = 500;

/** A slow machine is no store that is away. */
const commandTimeoutMs = 60_000;

async function open(): Promise<TaskStore> {
  if (where.startsWith('postgres:'))
    return postgresTaskStore({ url: where, schema: name, leaseMs, commandTimeoutMs });
  if (where.startsWith('redis:'))
    return redisTaskStore({ url: where, prefix: `${name}:`, leaseMs, commandTimeoutMs });
  return sqliteTaskStore(where);
}

/** Everything that the engine awaits of a store. */
const awaited = [
  ...(['lease', 'changes', 'read', 'create', 'append', 'appendWith'] as const),
  ...(['finish', 'claim', 'list', 'leave'] as const),
];

const store = await open();
for (const method of awaited) {
  const call = store[method]?.bind(store) as ((...args: unknown[]) => Promise<unknown>) | undefined;
  if (!call) continue;
  const deadly = async (...args: unknown[]): Promise<unknown> => {
    reach(`${method}.called`);
    const answer = await call(...args);
    reach(`${method}.answered`);
    return answer;
  };
  Object.assign(store, { [method]: deadly });
}

const { stdout } = process;
const write = stdout.write.bind(stdout) as (...args: unknown[]) => boolean;
Object.assign(stdout, {
  write: (...args: unknown[]) => {
    reach('stdout.called');
    const goesOn = write(...args);
    reach('stdout.answered');
    return goesOn;
  },
});

const server = createMcpServer({ name: 'killed', version: '1.0.0', tools: taskTools('required') });

await serve(server, { durable: store });
