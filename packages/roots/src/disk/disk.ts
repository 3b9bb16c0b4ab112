/**
 * File-system functions for servers that work in a client's roots: those of `node:fs/promises` with
 * a timeout. A hanging operation fails with `ETIMEDOUT` and uses only the threads that {@link
 * DiskLanes} allows.
 */
import type { BigIntStats, Dirent, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskLanes } from './disk-lanes.ts';
import { volumeOf } from './volumes.ts';

/** Long enough for a sleeping disk to spin up. */
const timeoutMs = 5000;

/** Shared by all sessions, because a process has one thread pool. */
const lanes = new DiskLanes({ volumeOf, timeoutMs });

export { describeFsError, systemCode } from './fs-error.ts';

/** An open file: the used part of `FileHandle`. */
export interface OpenFile {
  /** File descriptor. */
  readonly fd: number;
  /** What the system says of the file. */
  stat(): Promise<Stats>;
  /** What the system says of the file. */
  stat(options: { readonly bigint: true }): Promise<BigIntStats>;
  /** Reads up to `length` bytes at `position` into `buffer` at `offset`. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  /**
   * Resolves once the file is closed, or after the timeout if its volume hangs; the file is then
   * closed when the volume answers.
   */
  close(): Promise<void>;
}

/**
 * Opens a file.
 *
 * @param via alternative path of the same file to pass to the system, while `path` identifies the
 *   volume
 */
export async function open(path: string, flags: number, via = path): Promise<OpenFile> {
  const handle = await lanes.run(
    path,
    () => fs.open(via, flags),
    (late) => void closeFile(late),
  );
  return {
    fd: handle.fd,
    stat: (async (options: { bigint: true }) =>
      await lanes.run(path, () => handle.stat(options))) as OpenFile['stat'],
    read: async (buffer, offset, length, position) =>
      await lanes.run(path, () => handle.read(buffer, offset, length, position)),
    close: async () => await closeFile(handle),
  };
}

export async function stat(path: string): Promise<Stats>;
export async function stat(path: string, options: { readonly bigint: true }): Promise<BigIntStats>;
export async function stat(
  path: string,
  options?: { readonly bigint: true },
): Promise<Stats | BigIntStats> {
  return await lanes.run(path, () => fs.stat(path, options));
}

export async function lstat(path: string): Promise<Stats> {
  return await lanes.run(path, () => fs.lstat(path));
}

/**
 * Resolves a path one step at a time while an operation is slow. The system's own `realpath` would
 * follow links onto a hanging volume and charge that to the volume of the path. Only Linux lists
 * its volumes this precisely.
 */
export async function realpath(path: string): Promise<string> {
  if (process.platform === 'linux' && lanes.isSlow) return await resolveStepwise(path);
  return await lanes.run(path, () => fs.realpath(path));
}

/** Limit of symbolic links in one path, as in Linux. */
const maxLinks = 40;

async function resolveStepwise(path: string): Promise<string> {
  let real = '/';
  let names = namesOf(path);
  for (let links = 0; ;) {
    const [name, ...rest] = names;
    if (name === undefined) return real;
    const next = resolve(real, name);
    if (!(await lstat(next)).isSymbolicLink()) {
      real = next;
      names = rest;
      continue;
    }
    links += 1;
    if (links > maxLinks) {
      throw Object.assign(new Error(`ELOOP: too many symbolic links, ${path}`), { code: 'ELOOP' });
    }
    const target = await readlink(next);
    if (target.startsWith('/')) real = '/';
    names = [...namesOf(target), ...rest];
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** Entries of a directory, or the error of reading it. */
export type DirectoryReading = readonly Dirent[] | Error;

/** Reads directories of one volume as one operation with one timeout. */
export async function readDirectories(paths: readonly string[]): Promise<DirectoryReading[]> {
  const [first] = paths;
  if (first === undefined) return [];
  return await lanes.run(first, async () => {
    const readings: DirectoryReading[] = [];
    for (const path of paths) readings.push(await readOne(path));
    return readings;
  });
}

async function readOne(path: string): Promise<DirectoryReading> {
  try {
    return await fs.readdir(path, { withFileTypes: true });
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Raw file names of a directory, undecoded. */
export async function readNames(path: string): Promise<readonly Buffer[]> {
  return await lanes.run(path, () => fs.readdir(path, { encoding: 'buffer' }));
}

export async function readlink(path: string): Promise<string> {
  return await lanes.run(path, () => fs.readlink(path));
}

export async function access(path: string, mode: number): Promise<void> {
  await lanes.run(path, () => fs.access(path, mode));
}

/**
 * Closes a file outside the lanes, because a file must be closed even while its volume is rejected.
 * Node waits for operations that still run on the file.
 */
async function closeFile(handle: fs.FileHandle): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  try {
    await Promise.race([handle.close(), expiry]);
  } finally {
    clearTimeout(timer);
  }
}
