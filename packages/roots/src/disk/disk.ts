/**
 * The file system of a server that works in a client's roots: the functions of `node:fs/promises`, with a time that
 * each may take. What hangs fails with `ETIMEDOUT`, and takes no more threads than
 * {@link DiskLanes} gives it.
 */
import type { BigIntStats, Dirent, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskLanes } from './disk-lanes.ts';
import { volumeOf } from './volumes.ts';

/** A disk that sleeps needs some seconds to wake up. */
const timeoutMs = 5000;

/** Of all sessions of this process: it has one set of threads. */
const lanes = new DiskLanes({ volumeOf, timeoutMs });

export { fsFault, systemCode } from './fs-fault.ts';

/** An open file; a part of `FileHandle`. */
export interface OpenFile {
  /** The descriptor. */
  readonly fd: number;
  /** What the system says of the file. */
  stat(): Promise<Stats>;
  /** What the system says of the file. */
  stat(options: { readonly bigint: true }): Promise<BigIntStats>;
  /** Reads so many bytes from a position into a buffer. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  /** Resolves once the file is closed, or its volume hangs: then it is closed when that answers. */
  close(): Promise<void>;
}

/**
 * Opens a file.
 *
 * @param via a path to the same file that the system takes instead, if `path` alone tells its
 *   volume
 */
export async function open(path: string, flags: number, via = path): Promise<OpenFile> {
  const handle = await lanes.run(
    path,
    () => fs.open(via, flags),
    (late) => void closed(late),
  );
  return {
    fd: handle.fd,
    stat: (async (options: { bigint: true }) =>
      await lanes.run(path, () => handle.stat(options))) as OpenFile['stat'],
    read: async (buffer, offset, length, position) =>
      await lanes.run(path, () => handle.read(buffer, offset, length, position)),
    close: async () => await closed(handle),
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
 * The system follows links on its own, also onto a volume that hangs, for which the volume of the
 * path would then answer. While something is slow, each step is therefore taken by itself and
 * counts for the volume that it is on. Only Linux tells volumes apart so finely.
 */
export async function realpath(path: string): Promise<string> {
  if (process.platform === 'linux' && lanes.isSlow) return await followed(path);
  return await lanes.run(path, () => fs.realpath(path));
}

/** As many links as Linux follows before it gives up. */
const maxLinks = 40;

async function followed(path: string): Promise<string> {
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

/** What is in a directory, or the error that reading it gave. */
export type DirectoryReading = readonly Dirent[] | Error;

/** Reads directories that lie on one volume, in one turn of its threads: they share its time. */
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

/** The names in a directory, as its file system has them. */
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
 * Not in a lane: a file has to be closed also if its volume is refused. Node waits with it for what
 * still runs on the file.
 */
async function closed(handle: fs.FileHandle): Promise<void> {
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
