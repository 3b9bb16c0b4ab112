/** Opens what keeps the tasks of a process: in a directory, or in a store that is there already. */
import { systemClock } from '../actors/clock.ts';
import type { Report } from '../actors/facts.ts';
import { TaskKeeper } from '../tasks/task-keeper.ts';
import type { TaskStore } from '../tasks/task-store.ts';
import type { TaskKeeperFactName } from '../tasks/written-task.ts';
import { sqliteTaskStore } from './sqlite-task-store.ts';

/** The part of a server that is used here. One that is made for each request has no name yet. */
type Named = { readonly definition: { readonly name: string } } | ((...input: never) => unknown);

/** @throws {Error} the directory cannot be used, or there is no SQLite; what the store throws */
export async function openKeeper(
  durable: string | TaskStore,
  of: Named,
  report: Report<TaskKeeperFactName>,
): Promise<TaskKeeper> {
  const store = typeof durable === 'string' ? await sqliteTaskStore(durable) : durable;
  const server = typeof of === 'function' ? '' : of.definition.name;
  const keeper = new TaskKeeper({ store, server, clock: systemClock, report });
  try {
    await keeper.begin();
    return keeper;
  } catch (error) {
    await keeper.close();
    throw error;
  }
}
