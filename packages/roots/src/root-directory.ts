/**
 * A directory as it was when it was resolved: its path can come to name another one, which is then
 * not used.
 */
import { quoted } from '../../../src/protocol/printable.ts';
import { constants } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { ToolError } from '../../../src/protocol/errors.ts';
import { checkDirectory, identityOf } from './directory-check.ts';
import { open } from './disk/disk.ts';
import type { OpenFile } from './disk/disk.ts';
import { fsFault, systemCode } from './disk/fs-fault.ts';

/** A directory as it was when its root was resolved. */
export interface RootDirectory {
  /** The real path. */
  readonly path: string;
  /** Device and inode of the directory that had this path when it was resolved. */
  readonly identity: string;
  /** The directory of the command line that it was chosen in: it must be the same one, too. */
  readonly within?: RootDirectory;
}

/**
 * Notices a root that has disappeared, was replaced by a symbolic link or by another directory, or
 * has moved, when it is used.
 *
 * @throws {ToolError} ROOT_UNAVAILABLE
 */
export async function assertRootAvailable(root: RootDirectory): Promise<void> {
  if (root.within !== undefined) await assertRootAvailable(root.within);
  const check = await checkDirectory(root.path);
  if (!check.ok && check.code === 'TIMED_OUT') throw hanging(check.message);
  if (!check.ok) throw unavailable(root, check.message);
  if (check.path !== root.path) {
    throw unavailable(root, `a symbolic link now leads from it to ${quoted(check.path)}`);
  }
  if (check.identity !== root.identity) throw replaced(root);
}

/** A root that a process can be started in. */
export interface OpenRoot {
  /**
   * `descriptor` if `cwd` names the directory that was checked, even if its path comes to name
   * another.
   */
  readonly openedBy: 'descriptor' | 'name';
  /** What a child process takes as its working directory. */
  readonly cwd: string;
  /**
   * To be called once the child has started.
   *
   * @throws {ToolError} ROOT_UNAVAILABLE if the child may have been started in another directory
   */
  confirm(): Promise<void>;
  /** To be called once no other child is to be started. */
  close(): Promise<void>;
}

/**
 * Opens a root, so that a process starts in the directory that was checked even if its path leads
 * elsewhere a moment later. Linux can do that. On other systems the process starts by name, and
 * `confirm` checks the name again.
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
    if (identityOf(await handle.stat({ bigint: true })) !== root.identity) throw replaced(root);
    const place = await placeOfDescriptor(handle);
    if (place === root.path) {
      // The child has a copy of the descriptor until it has become the program that it starts.
      return {
        openedBy: 'descriptor',
        cwd: `/proc/self/fd/${handle.fd}`,
        confirm: async () => {},
        close: async () => await handle.close(),
      };
    }
    if (place !== undefined) throw unavailable(root, `it lies at ${quoted(place)} now`);
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
    // It was there a moment ago: these say that it has been replaced since.
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) throw replaced(root);
    const message = `The root ${quoted(root.path)} ${fsFault(error).phrase}`;
    throw new ToolError(message, { code: 'INACCESSIBLE', cause: error });
  }
}

/** Where an open file or directory lies now, as the system says it; undefined without `/proc`. */
export async function placeOfDescriptor({ fd }: OpenFile): Promise<string | undefined> {
  try {
    // The kernel answers this from its memory: it needs no lane.
    return await readlink(`/proc/self/fd/${fd}`);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return undefined;
  }
}

function hanging(message: string): ToolError {
  return new ToolError(
    `The root cannot be used now: ${message}. Try again later, or work in another root.`,
    {
      code: 'ROOT_UNAVAILABLE',
    },
  );
}

function replaced(root: RootDirectory): ToolError {
  return unavailable(root, 'another directory or file has taken its place');
}

function unavailable({ path }: RootDirectory, what: string): ToolError {
  return new ToolError(
    `The root ${quoted(path)} is not what it was when it was resolved: ${what}. Restore it, or open the project again; the server has to be started again if the directory was given on its command line.`,
    { code: 'ROOT_UNAVAILABLE' },
  );
}
