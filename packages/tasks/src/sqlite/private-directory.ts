/** The directory of tasks: nobody but its user may read or change what lies in it. */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSqlite } from './sqlite.ts';
import type { OpenDatabase } from './sqlite.ts';

/** How a directory of tasks is checked. */
export interface TaskDirectoryOptions {
  /** Skips every check, and leaves the modes of files and directories alone. Default false. */
  readonly insecure?: boolean | undefined;
  /** Called once with a warning if a group can use the directory. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** The database, its log and its index. */
export const databaseFile = 'tasks.db';
/** The database of sessions over HTTP. */
export const sessionsFile = 'sessions.db';
/** The directory of the locks. */
export const locksFolder = 'owners';

const databases = [databaseFile, sessionsFile];
const files = databases.flatMap((name) => [name, `${name}-wal`, `${name}-shm`]);

/** Bits of a mode. */
const [everybody, group, setGroup, writableByEverybody] = [0o007, 0o070, 0o2000, 0o002];

/**
 * Opens a directory of tasks, which is made if it is not there.
 *
 * @returns opens the databases in it
 * @throws {Error} there is no SQLite, or the directory cannot be used
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
 * Makes a directory that only its user can use, or tightens one that has wider modes. A directory that passes its
 * group on (setgid, as on the volumes of a pod with `fsGroup`) keeps what the group may do.
 *
 * @returns the mode of new files; undefined if they get that of the process
 * @throws {Error} everybody can write to the directory, or it belongs to another user than this one and root
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

/** Makes an empty file with this mode, unless it is there. */
function createPrivateFile(path: string, mode: number): void {
  try {
    closeSync(openSync(path, 'wx', mode));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  // Whatever the umask of the process takes away.
  chmodSync(path, mode);
}

async function holdsTasksAlone(directory: string): Promise<boolean> {
  const names = await readdir(directory);
  return names.every(
    (name) => name === locksFolder || databases.some((each) => name.startsWith(each)),
  );
}

/** Takes bits from the mode of a file of this user. */
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
