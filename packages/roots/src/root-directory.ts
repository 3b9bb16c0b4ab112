/**
 * Root directories with the identity they had when resolved. A directory that later replaces one at
 * its path is not used.
 */
import { quoted } from '../../../src/protocol/printable.ts';
import { constants } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { ToolError } from '../../../src/protocol/errors.ts';
import { checkDirectory, identityOf } from './directory-check.ts';
import { open } from './disk/disk.ts';
import type { OpenFile } from './disk/disk.ts';
import { describeFsError, systemCode } from './disk/fs-error.ts';

/** A directory, as found when its root was resolved. */
export interface RootDirectory {
  /** Real path. */
  readonly path: string;
  /** Device and inode of the directory at this path when it was resolved. */
  readonly identity: string;
  /** Command-line directory that this one was chosen in; it must be unchanged, too. */
  readonly within?: RootDirectory;
}

/**
 * Checks that a root still exists and was neither moved nor replaced by a symbolic link or another
 * directory.
 *
 * @throws {ToolError} ROOT_UNAVAILABLE
 */
export async function assertRootAvailable(root: RootDirectory): Promise<void> {
  if (root.within !== undefined) await assertRootAvailable(root.within);
  const check = await checkDirectory(root.path);
  if (!check.ok && check.code === 'TIMED_OUT') throw hangingError(check.message);
  if (!check.ok) throw unavailableError(root, check.message);
  if (check.path !== root.path) {
    throw unavailableError(root, `it is now a symbolic link to ${quoted(check.path)}`);
  }
  if (check.identity !== root.identity) throw replacedError(root);
}

/** An open root, usable as the working directory of a process. */
export interface OpenRoot {
  /** `descriptor` if `cwd` stays bound to the checked directory even if the path is replaced. */
  readonly openedBy: 'descriptor' | 'name';
  /** Working directory for the child process. */
  readonly cwd: string;
  /**
   * Confirms the directory. Call it after the child has started.
   *
   * @throws {ToolError} ROOT_UNAVAILABLE if the child may have started in another directory
   */
  confirm(): Promise<void>;
  /** Closes the root. Call it after the last child has started. */
  close(): Promise<void>;
}

/**
 * Opens a root so that a process starts in the directory that was checked, even if the path is
 * replaced at that moment. Only Linux supports this. On other systems the process starts by name,
 * and `confirm` checks the name again.
 *
 * @throws {ToolError} ROOT_UNAVAILABLE; INACCESSIBLE if the system cannot open it now
 */
export async function openRoot(root: RootDirectory): Promise<OpenRoot> {
  await assertRootAvailable(root);
  const byName: OpenRoot = {
    openedBy: 'name',
    cwd: root.path,
    confirm: async () => await assertRootAvailable(root),
    close: async () => {},
  };
  if (process.platform !== 'linux') return byName;
  const handle = await openDirectory(root);
  try {
    if (identityOf(await handle.stat({ bigint: true })) !== root.identity)
      throw replacedError(root);
    const location = await pathOfDescriptor(handle);
    if (location === root.path) {
      // The child inherits the descriptor until it executes its program.
      return {
        openedBy: 'descriptor',
        cwd: `/proc/self/fd/${handle.fd}`,
        confirm: async () => {},
        close: async () => await handle.close(),
      };
    }
    if (location !== undefined) throw unavailableError(root, `it was moved to ${quoted(location)}`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return byName;
}

async function openDirectory(root: RootDirectory): Promise<OpenFile> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(root.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    // The directory existed a moment ago, so these errors mean it was replaced.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) throw replacedError(root);
    const message = `The root ${quoted(root.path)} ${describeFsError(error).phrase}`;
    throw new ToolError(message, { code: 'INACCESSIBLE', cause: error });
  }
}

/**
 * Current path of an open file or directory, according to the system; undefined without `/proc`.
 */
export async function pathOfDescriptor({ fd }: OpenFile): Promise<string | undefined> {
  try {
    // The kernel answers from memory, so this needs no lane.
    return await readlink(`/proc/self/fd/${fd}`);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return undefined;
  }
}

function hangingError(message: string): ToolError {
  return new ToolError(
    `The root is unavailable: ${message}. Try again later, or use another root.`,
    {
      code: 'ROOT_UNAVAILABLE',
    },
  );
}

function replacedError(root: RootDirectory): ToolError {
  return unavailableError(root, 'it was replaced by another directory or file');
}

function unavailableError({ path }: RootDirectory, change: string): ToolError {
  return new ToolError(
    `The root ${quoted(path)} changed after it was resolved: ${change}. Restore it, or reopen the project. If the directory was given on the server's command line, restart the server.`,
    { code: 'ROOT_UNAVAILABLE' },
  );
}
