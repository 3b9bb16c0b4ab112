import { taskStoreContract } from 'mcp-actors/testing';
import type { TaskStoreWorld } from 'mcp-actors/testing';
import { describe, test } from 'vitest';
import { MemoryTaskStore, TaskTable } from './memory-task-store.ts';

async function openWorld(): Promise<TaskStoreWorld> {
  const table = new TaskTable();
  return {
    start: async () => new MemoryTaskStore(table),
    elapse: async (ms) => void (table.now += ms),
    close: async () => {},
  };
}

describe('tasks in memory', () => {
  for (const { name, check } of taskStoreContract) test(name, () => check(openWorld));
});
