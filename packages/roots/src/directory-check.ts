/** Whether a path is a directory that can be worked in, asked with a deadline. */
import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { quoted } from '../../../src/protocol/printable.ts';
import { access, realpath, stat } from './disk/disk.ts';
import { fsFault } from './disk/fs-fault.ts';

export type DirectoryCheck =
  /**
   * `path` is the directory's real path; `identity` is its device and inode, which stay the same
   * while it exists.
   */
  | { readonly ok: true; readonly path: string; readonly identity: string }
  | {
      readonly ok: false;
      readonly code: 'NOT_FOUND' | 'NOT_A_DIRECTORY' | 'INACCESSIBLE' | 'TIMED_OUT';
      /** For a person: what was wrong, with what value. */
      readonly message: string;
    };

/**
 * What a check asks of the world: gives the real path of a directory and what it is, throws the
 * system's error.
 */
export type DirectoryProbe = (
  path: string,
) => Promise<
  { readonly directory: string; readonly identity: string } | { readonly notADirectory: string }
>;

/** How a directory is checked, and for how long. */
export interface DirectoryCheckOptions {
  /** How long the file system may take, milliseconds; a dead network mount never answers. */
  readonly timeoutMs?: number;
  /** How the file system is asked. Tests give their own. */
  readonly probe?: DirectoryProbe;
}

/** The default time for one directory, milliseconds. */
const directoryTimeoutMs = 2000;

const probeDisk: DirectoryProbe = async (path) => {
  const real = await realpath(path);
  const stats = await stat(real, { bigint: true });
  if (!stats.isDirectory()) return { notADirectory: real };
  await access(real, constants.R_OK | constants.X_OK);
  return { directory: real, identity: identityOf(stats) };
};

/** Tells two files or directories apart that have had the same path. */
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
    void settle(path, probe).then((check) => {
      clearTimeout(timer);
      resolve(check);
    });
  });
}

async function settle(path: string, probe: DirectoryProbe): Promise<DirectoryCheck> {
  try {
    const found = await probe(path);
    if ('directory' in found) {
      return { ok: true, path: found.directory, identity: found.identity };
    }
    return notADirectory(`${quoted(path)} is not a directory`);
  } catch (error) {
    const { code, phrase } = fsFault(error);
    const message = `${quoted(path)} ${phrase}`;
    if (code === 'NOT_A_DIRECTORY') return notADirectory(message);
    if (code === 'NOT_FOUND' || code === 'TIMED_OUT') return { ok: false, code, message };
    return { ok: false, code: 'INACCESSIBLE', message };
  }
}

function notADirectory(message: string): DirectoryCheck {
  return { ok: false, code: 'NOT_A_DIRECTORY', message };
}
