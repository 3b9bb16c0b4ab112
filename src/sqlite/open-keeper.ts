/** Opens what keeps the tasks of a process: in a directory, or in a store that is there already. */
import { TaskKeeper } from '../tasks/task-keeper.ts';
import type { TaskKeeperOptions } from '../tasks/task-keeper.ts';
import type { TaskStore } from '../tasks/task-store.ts';
import { sqliteTaskStore } from './sqlite-task-store.ts';

/** @throws {Error} the directory cannot be used, or there is no SQLite; what the store throws */
export async function openKeeper(
  durable: string | TaskStore,
  options: Omit<TaskKeeperOptions, 'store'>,
): Promise<TaskKeeper> {
  const store = typeof durable === 'string' ? await sqliteTaskStore(durable) : durable;
  const keeper = new TaskKeeper({ ...options, store });
  try {
    await keeper.begin();
    return keeper;
  } catch (error) {
    await keeper.close();
    throw error;
  }
}
