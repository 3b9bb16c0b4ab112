/**
 * Lock between processes: a file that only one process can create and that its holder touches
 * regularly. The lock is broken if the holder's process is dead, or if the file was not touched for
 * a while: the holder then ran on another machine, or its process id was reused.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as elapse } from 'node:timers/promises';

/** Timing of a lock. */
export interface LockTimes {
  /** Polling interval while waiting, ms. */
  readonly pollMs: number;
  /** Interval between touches by the holder, ms. */
  readonly touchMs: number;
  /** Age at which an untouched lock counts as abandoned, ms. */
  readonly staleMs: number;
}

const usual: LockTimes = { pollMs: 50, touchMs: 2000, staleMs: 15_000 };

/**
 * Runs the work while this process holds the lock.
 *
 * @throws the error of the work, the reason of an abort before it begins, or the file system's
 *   error
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
  // The lock must not keep the process alive; a dead process's lock is broken.
  touching.unref();
  try {
    signal?.throwIfAborted();
    return await work();
  } finally {
    clearInterval(touching);
    // A suspended process may have lost the lock meanwhile.
    if ((await textOf(path)) === holder) await rm(path, { force: true });
  }
}

function touch(path: string): void {
  const now = new Date();
  // A missing file means that the lock was broken: the work continues, and does not remove the new
  // lock.
  utimes(path, now, now).catch(() => {});
}

/** @returns false if the file exists */
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

/** True if the owner left the file behind. */
async function isLeft(path: string, { staleMs }: LockTimes): Promise<boolean> {
  return isOfDead(await textOf(path)) || (await isOld(path, staleMs));
}

async function isOld(path: string, staleMs: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch {
    // The lock was just released.
    return false;
  }
}

/** True if the lock belongs to a dead process on this machine. */
function isOfDead(text = ''): boolean {
  try {
    const { pid, host } = JSON.parse(text) as { readonly pid: number; readonly host: string };
    if (host === hostname()) process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM: the process exists but belongs to another user. No code: the file is still being
    // written.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Removes an abandoned lock, under a claim: a slow finder would otherwise remove the lock that a
 * faster one has just created.
 */
async function takeAway(path: string, times: LockTimes): Promise<void> {
  const claim = `${path}.claim`;
  if (!(await isCreated(claim, ''))) {
    // The claimant died while holding the claim.
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
