/**
 * A lock between processes: a file that only one of them can create. Its holder touches it while it
 * works. A lock is taken over if its holder's process is gone, or if it was not touched for a
 * while: then its holder was on another machine, or its process id was reused.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as elapse } from 'node:timers/promises';

/** How patient a lock is. */
export interface LockTimes {
  /** The pause between two attempts to get it, milliseconds. */
  readonly pollMs: number;
  /** How often its holder touches it, milliseconds. */
  readonly touchMs: number;
  /** How long it may be untouched before it counts as abandoned, milliseconds. */
  readonly staleMs: number;
}

const usual: LockTimes = { pollMs: 50, touchMs: 2000, staleMs: 15_000 };

/**
 * Runs the work while this process holds the lock.
 *
 * @throws what the work throws, the reason of an abort that comes before it begins, or the file
 *   system's error
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  signal?: AbortSignal,
  times: LockTimes = usual,
): Promise<T> {
  const holder = JSON.stringify({ id: randomUUID(), pid: process.pid, host: hostname() });
  while (!(await isCreated(path, holder))) {
    signal?.throwIfAborted();
    if (await isLeft(path, times)) await takeAway(path, times);
    else await elapse(times.pollMs, undefined, signal ? { signal } : {});
  }
  const touching = setInterval(() => touch(path), times.touchMs);
  // The lock does not keep the process alive: if the process ends, the lock is taken over.
  touching.unref();
  try {
    signal?.throwIfAborted();
    return await work();
  } finally {
    clearInterval(touching);
    // A process that was suspended may have lost the lock to another one.
    if ((await textOf(path)) === holder) await rm(path, { force: true });
  }
}

function touch(path: string): void {
  const now = new Date();
  // If the file is gone, the lock was taken over: the work goes on, and leaves the new lock alone
  // at its end.
  utimes(path, now, now).catch(() => {});
}

/** @returns false if it is there already */
async function isCreated(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether its owner has ended and left the file behind. */
async function isLeft(path: string, { staleMs }: LockTimes): Promise<boolean> {
  return isOfDead(await textOf(path)) || (await isOld(path, staleMs));
}

async function isOld(path: string, staleMs: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch {
    // The lock has just been released.
    return false;
  }
}

/** Whether this is the lock of a process of this machine that has ended. */
function isOfDead(text = ''): boolean {
  try {
    const { pid, host } = JSON.parse(text) as { readonly pid: number; readonly host: string };
    if (host === hostname()) process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM: the process exists but belongs to another user. Without a code: the text is just being written.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Removes an abandoned lock. Only one of several finders may do so: otherwise a slower one would
 * remove the lock that a faster one has just created in its place.
 */
async function takeAway(path: string, times: LockTimes): Promise<void> {
  const claim = `${path}.claim`;
  if (!(await isCreated(claim, ''))) {
    // The process that made the claim died between two calls.
    if (await isOld(claim, times.staleMs)) await rm(claim, { force: true });
    else await elapse(times.pollMs);
    return;
  }
  try {
    if (await isLeft(path, times)) await unlink(path);
  } finally {
    await rm(claim, { force: true });
  }
}
