/** Opens the task store of a process: a directory, Postgres, Redis, or a given store. */
import { systemClock } from '../../../src/actors/clock.ts';
import type { TaskDirectoryOptions } from '../../tasks/src/sqlite/private-directory.ts';
import { missingPackage } from '../../processes/src/missing-package.ts';
import { textSealer } from '../../../src/rounds/request-state.ts';
import { environmentKeys } from '../../../src/server/server-core.ts';
import { sealedTaskStore } from '../../tasks/src/sealed-task-store.ts';
import { TaskWorker } from '../../tasks/src/task-worker.ts';
import type { TaskWorkerOptions } from '../../tasks/src/task-worker.ts';
import type { TaskStore } from '../../tasks/src/task-store.ts';
import type { StoreLimits, Stores } from '../../http/src/nodes/stores.ts';

/** The used part of a server. A per-request server has no name yet. */
type Named =
  | { readonly definition: { readonly name: string; readonly stateKeys?: readonly string[] } }
  | ((...input: never) => unknown);

/** @throws {Error} if the store is unusable or its package is missing */
export async function openTaskWorker(
  durable: string | TaskStore,
  of: Named,
  options: Pick<TaskWorkerOptions, 'report' | 'resumer' | 'limits'>,
): Promise<TaskWorker> {
  const { name: server, stateKeys = environmentKeys() ?? [] } =
    typeof of === 'function' ? { name: '' } : of.definition;
  const sealer = stateKeys.length > 0 ? textSealer(stateKeys) : undefined;
  const warn = (message: string) =>
    options.report({ level: 'warning', name: 'tasks.exposed', message });
  const opened = typeof durable === 'string' ? await openTaskStore(durable, { warn }) : durable;
  const store = sealer ? sealedTaskStore(opened, sealer) : opened;
  const worker = new TaskWorker({ store, server, clock: systemClock, ...options });
  try {
    await worker.start();
    return worker;
  } catch (error) {
    await worker.close();
    throw error;
  }
}

async function redisModule() {
  try {
    return await import('../../nodes/src/redis.ts');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw missingPackage('Tasks in Redis need', 'redis', error);
  }
}

/** Where tasks and sessions are kept. */
interface StorePlace {
  tasks(options: TaskDirectoryOptions): Promise<TaskStore>;
  sessions(limits: StoreLimits): Promise<Stores>;
}

const postgresAt = (url: string): StorePlace => ({
  tasks: async () => (await import('../../nodes/src/postgres/index.ts')).postgresTaskStore({ url }),
  sessions: async (limits) =>
    (await import('../../nodes/src/postgres/index.ts')).postgresStores({ url, limits }),
});

const redisAt = (url: string): StorePlace => ({
  tasks: async () => (await redisModule()).redisTaskStore({ url }),
  sessions: async (limits) => (await redisModule()).redisStores({ url, limits }),
});

const directoryAt = (directory: string): StorePlace => ({
  tasks: async (options) =>
    (await import('../../tasks/src/sqlite/sqlite-task-store.ts')).sqliteTaskStore(
      directory,
      options,
    ),
  // What is wrong with the directory, its tasks have said.
  sessions: async (limits) =>
    (await import('../../nodes/src/sqlite/sqlite-stores.ts')).sqliteStores(directory, {
      limits,
      warn: () => {},
    }),
});

/** By their schemes. Whatever else is written is a directory, `C:\state` too. */
const places: readonly (readonly [RegExp, (url: string) => StorePlace])[] = [
  [/^postgres(?:ql)?:\/\//, postgresAt],
  [/^rediss?:\/\//, redisAt],
];

/** @throws {TypeError} it is the URL of something else */
export function placeOf(where: string): StorePlace {
  const at = places.find(([form]) => form.test(where))?.[1];
  if (at) return at(where);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(where)?.[1];
  if (scheme === undefined) return directoryAt(where);
  const message = `Tasks cannot be kept by ${scheme}://; give a directory, postgres://… or redis://…`;
  throw new TypeError(message);
}

/**
 * Opens a task store.
 *
 * @param where directory, `postgres://…` or `redis://…`
 * @param options requirements for a directory
 * @throws {TypeError} for a URL with another scheme
 * @throws {Error} if the store is unusable, or the directory is writable by everyone or owned by
 *   another user
 */
export async function openTaskStore(
  where: string,
  options: TaskDirectoryOptions = {},
): Promise<TaskStore> {
  return placeOf(where).tasks(options);
}
