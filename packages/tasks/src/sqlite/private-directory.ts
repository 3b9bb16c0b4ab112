/** The directory of a task store, accessible only to its user. */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSqlite } from './sqlite.ts';
import type { OpenDatabase } from './sqlite.ts';

/** Options of the permission checks. */
export interface TaskDirectoryOptions {
  /** Skips all checks, and leaves file modes unchanged. Default: false. */
  readonly insecure?: boolean | undefined;
  /** Receives a warning once if the directory is accessible to a group. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** Files of the database: data, log and shared memory. */
export const databaseFile = 'tasks.db';
/** The database of sessions over HTTP. */
export const sessionsFile = 'sessions.db';
/** The directory of the locks. */
export const locksFolder = 'owners';

const databases = [databaseFile, sessionsFile];
const files = databases.flatMap((name) => [name, `${name}-wal`, `${name}-shm`]);

/** Permission bits. */
const [everybody, group, setGroup, writableByEverybody] = [0o007, 0o070, 0o2000, 0o002];

/**
 * Opens the directory of a task store. Creates it if needed.
 *
 * @returns opens the databases in the directory
 * @throws {Error} SQLite is missing, or the directory is unusable
 */
export async function openDirectory(
  directory: string,
  options: TaskDirectoryOptions,
): Promise<OpenDatabase> {
  const mode = await openPrivateDirectory(directory, options);
  const openDatabase = await loadSqlite();
  return (path, timeoutMs) => {
    if (mode !== undefined) createPrivateFile(path, mode);
    return openDatabase(path, timeoutMs);
  };
}

/**
 * Creates a directory that only its user can access, or restricts the mode of an existing one. A setgid directory, such
 * as a pod volume with `fsGroup`, keeps its group permissions.
 *
 * @returns mode of new files; undefined for the process's default
 * @throws {Error} the directory is world-writable, or owned by a user other than this one and root
 */
async function openPrivateDirectory(
  directory: string,
  { insecure = false, warn = (message) => process.emitWarning(message) }: TaskDirectoryOptions,
): Promise<number | undefined> {
  const locks = join(directory, locksFolder);
  const user = process.getuid?.();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (insecure || user === undefined) {
    await mkdir(locks, { recursive: true });
    return undefined;
  }
  const { mode, uid, gid } = await stat(directory);
  const shown = (mode & 0o7777).toString(8);
  const otherwise = 'or open it with openTaskStore(directory, { insecure: true })';
  if (mode & writableByEverybody) {
    throw new Error(
      `The directory of tasks ${directory} must not be writable by everybody, got mode ${shown}: check what lies in it and chmod it to 700, ${otherwise}`,
    );
  }
  if (uid !== user && uid !== 0) {
    throw new Error(
      `The directory of tasks ${directory} must belong to this user (${user}) or to root, got ${uid}: chown it, ${otherwise}`,
    );
  }
  const isOurs = uid === user;
  const isGroups = (mode & setGroup) !== 0 || !isOurs;
  const taken = everybody | (isGroups ? 0 : group);
  if (isOurs && mode & taken && (await holdsTasksAlone(directory))) {
    await chmod(directory, mode & ~taken & 0o7777);
  }
  const isShared = isGroups && (mode & group) !== 0;
  if (isShared) {
    warn(
      `The group ${gid} can use the directory of tasks ${directory} (mode ${shown}): its members can read and change all tasks`,
    );
  }
  await mkdir(locks, { recursive: true });
  for (const name of [...files, locksFolder]) await tighten(join(directory, name), user, taken);
  if (isShared) await letGroup(locks, user);
  return isShared ? 0o660 : 0o600;
}

/** Creates an empty file with this mode, unless it exists. */
function createPrivateFile(path: string, mode: number): void {
  try {
    closeSync(openSync(path, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  // chmod, because the umask may have removed bits.
  chmodSync(path, mode);
}

async function holdsTasksAlone(directory: string): Promise<boolean> {
  const names = await readdir(directory);
  return names.every(
    (name) => name === locksFolder || databases.some((each) => name.startsWith(each)),
  );
}

/** Removes permission bits from a file of this user. */
async function tighten(path: string, user: number, taken: number): Promise<void> {
  const { mode, uid } = (await lstat(path).catch(unlessMissing)) ?? { mode: 0, uid: -1 };
  if (uid === user && mode & taken) await chmod(path, mode & ~taken & 0o7777);
}

async function letGroup(path: string, user: number): Promise<void> {
  const { mode, uid } = await stat(path);
  if (uid === user) await chmod(path, (mode & 0o7777) | group);
}

export function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}
