/**
 * A store that kills its process with SIGKILL at a given point: `create.called:1` is the first call
 * of create, `create.answered:1` its return before the engine continues; `stdout` is output to the
 * client. `any:20` is the twentieth point of all.
 */
import type { TaskStore } from 'mcp-actors';
import { postgresTaskStore } from 'mcp-actors/postgres';
import { redisTaskStore } from 'mcp-actors/redis';
import { sqliteTaskStore } from '../../packages/tasks/src/sqlite/sqlite-task-store.ts';

const come = new Map<string, number>();

/** Kills the process if this is the point. */
function reach(label: string, point: string): void {
  const [what = '', nth] = point.split(':');
  for (const each of [label, 'any']) {
    const times = (come.get(each) ?? 0) + 1;
    come.set(each, times);
    if (each === what && times === Number(nth)) process.kill(process.pid, 'SIGKILL');
  }
}

/** Lease duration of a shared store. Tests wait until it ends. */
const leaseMs = 500;

/** Generous, so that a slow machine is not mistaken for an unreachable store. */
const commandTimeoutMs = 60_000;

async function open(where: string, name: string): Promise<TaskStore> {
  if (where.startsWith('postgres:'))
    return postgresTaskStore({ url: where, schema: name, leaseMs, commandTimeoutMs });
  if (where.startsWith('redis:'))
    return redisTaskStore({ url: where, prefix: `${name}:`, leaseMs, commandTimeoutMs });
  return sqliteTaskStore(where);
}

/** Store methods that the engine awaits. */
const awaited = [
  ...(['lease', 'changes', 'read', 'create', 'append', 'appendWith'] as const),
  ...(['finish', 'claim', 'list', 'leave'] as const),
];

/**
 * Opens a store that kills this process at the point. @param name distinguishes the stores of one
 * location
 */
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
