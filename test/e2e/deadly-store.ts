/**
 * A store that ends its process with SIGKILL at a point: `create.called:1` is the first time that the store is asked to create,
 * `create.answered:1` is when it has answered that, and the engine has not gone on; `stdout` is what is said to the
 * client. `any:20` is the twentieth point of all.
 */
import type { TaskStore } from 'mcp-actors';
import { postgresTaskStore } from 'mcp-actors/postgres';
import { redisTaskStore } from 'mcp-actors/redis';
import { sqliteTaskStore } from '../../packages/tasks/src/sqlite/sqlite-task-store.ts';

const come = new Map<string, number>();

/** Ends the process if this is the point. */
function reach(label: string, point: string): void {
  const [what = '', nth] = point.split(':');
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

async function open(where: string, name: string): Promise<TaskStore> {
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

/** Opens a store, and kills this process at the point. @param name tells the stores of one place apart */
export async function openDeadlyStore(
  where: string,
  point: string,
  name = 'tasks',
): Promise<TaskStore> {
  const store = await open(where, name);
  for (const method of awaited) {
    const call = store[method]?.bind(store) as
      | ((...args: unknown[]) => Promise<unknown>)
      | undefined;
    if (!call) continue;
    const deadly = async (...args: unknown[]): Promise<unknown> => {
      reach(`${method}.called`, point);
      const answer = await call(...args);
      reach(`${method}.answered`, point);
      return answer;
    };
    Object.assign(store, { [method]: deadly });
  }
  const { stdout } = process;
  const write = stdout.write.bind(stdout) as (...args: unknown[]) => boolean;
  Object.assign(stdout, {
    write: (...args: unknown[]) => {
      reach('stdout.called', point);
      const goesOn = write(...args);
      reach('stdout.answered', point);
      return goesOn;
    },
  });
  return store;
}
