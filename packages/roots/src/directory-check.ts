/** Checks with a deadline that a path is a usable directory. */
import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { quoted } from '../../../src/protocol/printable.ts';
import { access, realpath, stat } from './disk/disk.ts';
import { describeFsError } from './disk/fs-error.ts';

export type DirectoryCheck =
  /**
   * `path` is the real path. `identity` holds device and inode, which stay the same while the
   * directory exists.
   */
  | { readonly ok: true; readonly path: string; readonly identity: string }
  | {
      readonly ok: false;
      readonly code: 'NOT_FOUND' | 'NOT_A_DIRECTORY' | 'INACCESSIBLE' | 'TIMED_OUT';
      /** Explanation for people, including the value. */
      readonly message: string;
    };

/** Looks up a directory's real path and identity. Throws the system's error. */
export type DirectoryProbe = (
  path: string,
) => Promise<
  { readonly directory: string; readonly identity: string } | { readonly notADirectory: string }
>;

/** Options of a directory check. */
export interface DirectoryCheckOptions {
  /**
   * Deadline for the file system, milliseconds. A dead network mount never answers. Default: 2000.
   */
  readonly timeoutMs?: number;
  /** Replacement for the file system, for tests. */
  readonly probe?: DirectoryProbe;
}

/** Default deadline for one directory. */
const directoryTimeoutMs = 2000;

const probeDisk: DirectoryProbe = async (path) => {
  const real = await realpath(path);
  const stats = await stat(real, { bigint: true });
  if (!stats.isDirectory()) return { notADirectory: real };
  await access(real, constants.R_OK | constants.X_OK);
  return { directory: real, identity: identityOf(stats) };
};

/** Distinguishes files or directories that had the same path at different times. */
export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Checks one directory. Never rejects. */
export async function checkDirectory(
  path: string,
  options: DirectoryCheckOptions = {},
): Promise<DirectoryCheck> {
  const { timeoutMs = directoryTimeoutMs, probe = probeDisk } = options;
  return await new Promise<DirectoryCheck>((resolve) => {
    const timer = setTimeout(() => {
      const message = `${quoted(path)} did not answer within ${timeoutMs} ms`;
      resolve({ ok: false, code: 'TIMED_OUT', message });
    }, timeoutMs);
    void probeToCheck(path, probe).then((check) => {
      clearTimeout(timer);
      resolve(check);
    });
  });
}

async function probeToCheck(path: string, probe: DirectoryProbe): Promise<DirectoryCheck> {
  try {
    const found = await probe(path);
    if ('directory' in found) {
      return { ok: true, path: found.directory, identity: found.identity };
    }
    return notADirectory(`${quoted(path)} is not a directory`);
  } catch (error) {
    const { code, phrase } = describeFsError(error);
    const message = `${quoted(path)} ${phrase}`;
    if (code === 'NOT_A_DIRECTORY') return notADirectory(message);
    if (code === 'NOT_FOUND' || code === 'TIMED_OUT') return { ok: false, code, message };
    return { ok: false, code: 'INACCESSIBLE', message };
  }
}

function notADirectory(message: string): DirectoryCheck {
  return { ok: false, code: 'NOT_A_DIRECTORY', message };
}
