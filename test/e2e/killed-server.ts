/**
 * A server with durable tasks, in a directory or at a URL, that ends itself with SIGKILL at a write of its store: `before:3` or
 * `after:3`.
 */
import { createMcpServer } from 'mcp-actors';
import type { TaskStore } from 'mcp-actors';
import { postgresTaskStore } from 'mcp-actors/postgres';
import { redisTaskStore } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { sqliteTaskStore } from '../../src/sqlite/sqlite-task-store.ts';
import { taskTools } from './task-tools.ts';

const [, , where = '', point = ''] = process.argv;
const [when, number] = point.split(':');
let writes = 0;

/** Counts a write, and ends the process if it is the one. */
async function numbered<T>(write: () => Promise<T>): Promise<T> {
  const isHere = ++writes === Number(number);
  if (isHere && when === 'before') process.kill(process.pid, 'SIGKILL');
  const written = await write();
  if (isHere) process.kill(process.pid, 'SIGKILL');
  return written;
}

/** Of a store that others share. Tests wait for its end, and a process that lives prolongs it three times meanwhile. */
const leaseMs = 1000;

/** A slow machine is no store that is away. */
const commandTimeoutMs = 60_000;

async function open(): Promise<TaskStore> {
  if (where.startsWith('postgres:'))
    return postgresTaskStore({ url: where, leaseMs, commandTimeoutMs });
  if (where.startsWith('redis:')) return redisTaskStore({ url: where, leaseMs, commandTimeoutMs });
  return sqliteTaskStore(where);
}

const store = await open();
const { create, append, finish, claim } = store;
const deadly: TaskStore = Object.assign(store, {
  create: (...args: Parameters<typeof create>) => numbered(() => create.apply(store, args)),
  append: (...args: Parameters<typeof append>) => numbered(() => append.apply(store, args)),
  finish: (...args: Parameters<typeof finish>) => numbered(() => finish.apply(store, args)),
  claim: (...args: Parameters<typeof claim>) => numbered(() => claim.apply(store, args)),
});

const server = createMcpServer({ name: 'killed', version: '1.0.0', tools: taskTools('required') });

await serve(server, { durable: deadly });
